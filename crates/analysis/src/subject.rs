//! What is analysed: a model at a K, and the instructions that compute so.

use bitmma_engine::arithmetic::parameter::{Missing, Parameter, Value};
use bitmma_engine::catalogue::{Instruction, catalogue};
use bitmma_engine::formats::Format;
use bitmma_engine::{Architecture, Model, Revision};
use bitmma_verify::inputs::Formats;

/// A model at a K, and its row in the catalogue.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The model; its NaN code is left out, for it says nothing about numbers.
    pub model: Model,
    /// Elements along K.
    pub k: usize,
    /// The instructions that compute so; empty for a user's model.
    pub rows: Vec<&'static Instruction>,
    /// For headings.
    pub name: String,
}

impl Subject {
    /// A model that a user wrote.
    pub fn of_model(name: impl Into<String>, model: Model, k: usize) -> Subject {
        Subject { model, k, rows: Vec::new(), name: name.into() }
    }

    /// One instruction; `None` where it is not known how it computes.
    pub fn of_row(row: &'static Instruction, revision: Revision) -> Option<Subject> {
        let model = row.model(revision)?;
        Some(Subject { model, k: row.products(), rows: vec![row], name: row.target() })
    }

    /// The architectures it stands for.
    pub fn architectures(&self) -> Vec<Architecture> {
        let mut all: Vec<Architecture> = Vec::new();
        for row in &self.rows {
            if !all.contains(&row.architecture) {
                all.push(row.architecture);
            }
        }
        all
    }

    /// A, B, C, D and the scale format.
    pub fn formats(&self) -> (Formats, Format) {
        (Formats::from(&self.model), self.model.d)
    }
}

/// The instructions that are analyzed: those on floating point, for sums of integers are exact.
pub fn rows() -> impl Iterator<Item = &'static Instruction> {
    catalogue().iter().filter(|row| !row.d.is_integer())
}

/// The model without what has no influence on a number at this K: L_max beyond K, the code of NaN, a
/// fused sum of one, L_max where integers wrap.
pub fn essence(model: &Model, k: usize) -> Model {
    let mut model = model.clone();
    // sums of integers that wrap are the same however many products are in one
    let is_any = model.is_integer() && !model.conversion.saturate;
    let length = Value::Number(if is_any { 1 } else { model.length(k).max(1) as i128 });
    let mut operation = model.operation.with(Parameter::MaxLength, length);
    for (parameter, value) in model.operation.parameters() {
        // what has the value that it would have if it were left out
        if let Missing::As(other) = parameter.row().missing
            && operation.get(other) == Some(value)
        {
            operation = operation.with(parameter, Value::None);
        }
    }
    model.operation = operation;
    model.nan_code = None;
    model
}

/// Every different model of these instructions on floating point, each with all the instructions that have it, in the
/// catalogue's order.
pub fn subjects(revision: Revision, wanted: impl Fn(&Instruction) -> bool) -> Vec<Subject> {
    let rows = rows().filter(|row| wanted(row));
    different(rows.filter_map(|row| Subject::of_row(row, revision)))
}

/// The architectures that have a native instruction of this model at this K.
pub fn alike(model: &Model, k: usize, revision: Revision) -> Vec<Architecture> {
    let essential = essence(model, k);
    let rows = catalogue().iter().filter(|row| row.is_native() && row.products() == k);
    let rows = rows.filter(|row| row.model_ref(revision).is_some_and(|other| essence(other, k) == essential));
    let mut all: Vec<Architecture> = rows.map(|row| row.architecture).collect();
    all.dedup();
    all
}

/// Every different elementary operation of the catalogue's native instructions: K brought down to L.
pub fn elementary(revision: Revision) -> Vec<Subject> {
    let rows = rows().filter(|row| row.is_native());
    different(rows.filter_map(|row| {
        let subject = Subject::of_row(row, revision)?;
        let block = subject.model.scale.map_or(1, |scale| scale.size);
        Some(Subject { k: subject.model.length(row.products()).max(block), ..subject })
    }))
}

/// Subjects with the same model made one.
fn different(subjects: impl Iterator<Item = Subject>) -> Vec<Subject> {
    let mut all: Vec<Subject> = Vec::new();
    for mut subject in subjects {
        subject.model = essence(&subject.model, subject.k);
        match all.iter_mut().find(|known| known.model == subject.model) {
            Some(known) => known.rows.append(&mut subject.rows),
            None => all.push(subject),
        }
    }
    all
}

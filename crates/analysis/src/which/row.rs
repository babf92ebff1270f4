//! A model, and how far it agrees with D.

use bitmma_engine::Architecture;
use bitmma_engine::catalogue::Instruction;
use bitmma_engine::explain::json::Coded;
use serde::{Serialize, Serializer};

use super::order::Order;
use crate::json::Model;

/// An element of D that a model computes otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Mismatch {
    /// Block, row and column.
    pub element: [usize; 3],
    /// That of the D that was observed.
    pub observed: Coded,
    /// The model's.
    pub computed: Coded,
}

/// A model, and how far it agrees.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The first instruction that computes so: `hopper wgmma.m64n{8..256}k16.f32.f16.f16`.
    pub target: Option<String>,
    /// All of them; none for threads without a matrix unit.
    #[serde(serialize_with = "targets")]
    pub instructions: Vec<&'static Instruction>,
    /// Their architectures.
    #[serde(serialize_with = "names")]
    pub architectures: Vec<Architecture>,
    /// The chip of each that the paper's authors had.
    pub chips: Vec<&'static str>,
    /// Whether it is also what ordinary threads compute: FP32 (or FP64) fused multiply-adds.
    pub threads: bool,
    /// The model; sums of threads that no model describes have none.
    pub model: Option<Model>,
    /// Elements on which the nearest order agrees.
    pub agreeing: usize,
    /// Elements that were compared.
    pub compared: usize,
    /// The orders with which it agrees on every element.
    pub matching: Vec<Order>,
    /// Orders that agree on the elements compared, but were not compared on all, as that would take long.
    pub unverified: usize,
    /// The order that agrees best, the simplest of several.
    pub nearest: Order,
    /// The first element that it computes otherwise.
    pub first: Option<Mismatch>,
}

fn targets<S: Serializer>(instructions: &[&'static Instruction], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(instructions.iter().map(|one| one.target()))
}

fn names<S: Serializer>(architectures: &[Architecture], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(architectures.iter().map(|one| one.name()))
}

impl Row {
    /// Instructions that nothing was compared with.
    pub(super) fn of(instructions: Vec<&'static Instruction>, threads: bool) -> Row {
        let mut architectures: Vec<Architecture> = vec![];
        for row in &instructions {
            if !architectures.contains(&row.architecture) {
                architectures.push(row.architecture);
            }
        }
        Row {
            target: instructions.first().map(|one| one.target()),
            chips: architectures.iter().filter_map(|one| one.papers_chip()).collect(),
            instructions,
            architectures,
            threads,
            model: None,
            agreeing: 0,
            compared: 0,
            matching: vec![],
            unverified: 0,
            nearest: Order::default(),
            first: None,
        }
    }

    /// The chips that compute so, or else the names of their architectures.
    pub fn units(&self) -> Vec<&'static str> {
        self.architectures.iter().map(|one| one.papers_chip().unwrap_or(one.name())).collect()
    }

    /// An order in words; with its steps where another that matches has the same words.
    pub fn words(&self, order: &Order) -> String {
        let words = order.to_string();
        let alike = |other: &Order| other != order && other.to_string() == words;
        match order.k_step {
            Some(step) if self.matching.iter().any(alike) => format!("{words} (steps of {step})"),
            _ => words,
        }
    }
}

//! What gave the results of a recording.

use bitmma_engine::arithmetic::{Model, Prepared};
use bitmma_engine::catalogue::lookup::Found;
use bitmma_engine::catalogue::{Architecture, Processor, Revision, find, find_processor};
use bitmma_engine::{Error, Signature, model_of};

/// An instruction of the catalogue or of a processor, or another unit whose model is given.
#[derive(Clone, Debug)]
pub struct Origin {
    architecture: String,
    instruction: String,
    signature: Signature,
    known: Known,
}

/// How its model is known.
#[derive(Clone, Debug)]
enum Known {
    /// The catalogue has it, in several revisions.
    Instruction(Found),
    /// This it is.
    Model(Box<Model>),
}

/// The name used instead of an architecture for an instruction of a processor.
pub(crate) const PROCESSOR: &str = "cpu";

impl Origin {
    /// The instruction of an architecture or, if that is `cpu`, of a processor.
    pub fn named(architecture: &str, instruction: &str) -> Result<Origin, Error> {
        if architecture.eq_ignore_ascii_case(PROCESSOR) {
            return Ok(Origin::processor(find_processor(instruction)?));
        }
        let architecture: Architecture = architecture.parse()?;
        Ok(Origin::found(find(architecture, instruction)?))
    }

    /// An instruction of the catalogue.
    pub fn found(found: Found) -> Origin {
        Origin {
            architecture: found.instruction.architecture.name().to_owned(),
            instruction: found.name(),
            signature: Signature::found(&found),
            known: Known::Instruction(found),
        }
    }

    /// An instruction of a processor.
    pub fn processor(row: &Processor) -> Origin {
        Origin {
            architecture: PROCESSOR.to_owned(),
            instruction: row.name.to_owned(),
            signature: Signature::of_model(format!("{PROCESSOR}:{}", row.name), &row.model, row.shape),
            known: Known::Model(Box::new(row.model.clone())),
        }
    }

    /// A unit of which no more is known than its model, as one dot product of K elements.
    pub fn unit(architecture: &str, instruction: &str, model: &Model, k: usize) -> Result<Origin, Error> {
        Prepared::new(model, k)?;
        Ok(Origin {
            architecture: architecture.to_owned(),
            instruction: instruction.to_owned(),
            signature: Signature::of_model(format!("{architecture}/{instruction}"), model, (1, 1, k)),
            known: Known::Model(Box::new(model.clone())),
        })
    }

    /// The architecture, `cpu`, or the name used instead.
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The name of the instruction.
    pub fn instruction(&self) -> &str {
        &self.instruction
    }

    /// What it takes and gives.
    pub fn signature(&self) -> &Signature {
        &self.signature
    }

    /// The catalogue's row; `None` for what does not stand there.
    pub fn row(&self) -> Option<&Found> {
        match &self.known {
            Known::Instruction(found) => Some(found),
            Known::Model(_) => None,
        }
    }

    /// How it computes. `revision` is for the catalogue's instructions.
    pub fn model(&self, revision: Revision) -> Result<Model, Error> {
        match &self.known {
            Known::Instruction(found) => model_of(found, revision),
            Known::Model(model) => Ok((**model).clone()),
        }
    }
}

/// Two are one if they are called alike.
impl PartialEq for Origin {
    fn eq(&self, other: &Origin) -> bool {
        (&self.architecture, &self.instruction) == (&other.architecture, &other.instruction)
    }
}

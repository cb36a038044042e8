//! Flink's `_metadata`, versions 2 to 6: what a checkpoint or savepoint consists of. Reads bytes; opens no
//! file that they refer to. Layouts: Flink's `MetadataV2V3SerializerBase` and what extends it.
mod channel;
pub mod handles;
mod input;
mod keyed;
mod operator;
mod properties;
mod references;
mod sizes;
mod stream;
pub mod write;

pub use handles::*;
pub use properties::SnapshotKind;
pub use references::{Reference, Role};
pub use sizes::Sizes;

use input::Input;

use crate::malformed::Within;
use crate::{Malformed, Result};

/// How every `_metadata` begins.
pub const MAGIC: u32 = 0x4960_672d;
/// Of each state of a master hook.
const MASTER_MAGIC: u32 = 0xc96b_1696;

pub const OLDEST: u32 = 2;
pub const NEWEST: u32 = 6;

impl Metadata {
    /// Reads a whole `_metadata`. Ranges in the result are of `bytes`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut input = Input::new(bytes);
        let magic = input.i32("magic")?;
        if magic as u32 != MAGIC {
            return Err(Malformed::new(
                0,
                "magic",
                format!("{magic:08x}, so no _metadata of Flink"),
            ));
        }
        let version = version(&mut input)?;
        let at = input.at();
        let checkpoint_id = input.i64("checkpoint id")?;
        if checkpoint_id < 0 {
            return Err(input.wrong(at, "checkpoint id", checkpoint_id.to_string()));
        }
        let masters = input.count(8, "number of master states")?;
        let mut master_states = Vec::new();
        for index in 0..masters {
            let state = master_state(&mut input, bytes);
            master_states.push(state.within(|| format!("master states[{index}]"))?);
        }
        let count = input.count(28, "number of operators")?;
        let mut operators = Vec::new();
        for index in 0..count {
            let operator = operator::read(&mut input, version);
            operators.push(operator.within(|| format!("operators[{index}]"))?);
        }
        let kind = match version {
            4.. => Some(properties::read(&bytes[input.rest()], input.at())?),
            _ => None,
        };
        Ok(Self { version, checkpoint_id, master_states, operators, kind })
    }
}

fn version(input: &mut Input<'_>) -> Result<u32> {
    let at = input.at();
    let version = input.i32("version")?;
    match u32::try_from(version) {
        Ok(known @ OLDEST..=NEWEST) => Ok(known),
        Ok(1) => {
            Err(input.wrong(at, "version", "1, of Flink 1.2, which Flink 2 cannot read either"))
        }
        _ => {
            let text = format!("{version}, but this reads {OLDEST} to {NEWEST}");
            Err(input.wrong(at, "version", text))
        }
    }
}

fn master_state(input: &mut Input<'_>, bytes: &[u8]) -> Result<MasterState> {
    let at = input.at();
    let magic = input.i32("magic")?;
    if magic as u32 != MASTER_MAGIC {
        return Err(input.wrong(at, "magic", format!("{magic:08x}")));
    }
    let state = input.sized("length")?;
    let begins = state.start;
    let shift = |mut error: Malformed| {
        error.offset += begins as u64;
        error
    };
    let mut inner = Input::new(&bytes[state]);
    let mut read = || {
        inner.i32("version")?;
        let name = inner.utf("name")?;
        let size = inner.sized("bytes")?.len();
        match inner.rest() {
            rest if rest.is_empty() => Ok(MasterState { name, size }),
            rest => Err(inner.wrong(rest.start, "bytes", format!("{} too many", rest.len()))),
        }
    };
    read().map_err(shift)
}

#[cfg(test)]
#[path = "metadata_test.rs"]
mod tests;

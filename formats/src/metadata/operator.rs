//! Reads an operator: its names, its subtasks, their handles.
use super::channel::{self, Side};
use super::handles::{
    MergingDirectories, Mode, Operator, OperatorId, OperatorState, PartitionedState, Stream,
    Subtask, SubtaskState,
};
use super::input::Input;
use super::{keyed, stream};
use crate::malformed::Within;
use crate::Result;

const NO_OPERATOR_STATE: u8 = 0;
const OPERATOR_STATE: u8 = 4;
const MERGED_OPERATOR_STATE: u8 = 17;

pub fn read(input: &mut Input<'_>, version: u32) -> Result<Operator> {
    let mut given = |field: &str| -> Result<Option<String>> {
        Ok(Some(input.utf(field)?).filter(|name| !name.is_empty()))
    };
    let (name, uid) = if version >= 5 { (given("name")?, given("uid")?) } else { (None, None) };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&input.i64("operator id")?.to_be_bytes());
    id[8..].copy_from_slice(&input.i64("operator id")?.to_be_bytes());
    let parallelism = input.i32("parallelism")?;
    let max_parallelism = input.i32("max parallelism")?;
    let coordinator = if version >= 3 {
        coordinator(input)?
    } else {
        input.i32("chain length")?;
        None
    };
    let subtasks = subtasks(input, version)?;
    Ok(Operator {
        name,
        uid,
        id: OperatorId(id),
        parallelism,
        max_parallelism,
        coordinator,
        subtasks,
    })
}

fn coordinator(input: &mut Input<'_>) -> Result<Option<Stream>> {
    let at = input.at();
    match stream::read(input).within(|| "coordinator state".into())? {
        inline @ (None | Some(Stream::Inline { .. })) => Ok(inline),
        Some(_) => Err(input.wrong(at, "coordinator state", "a handle that is not inline")),
    }
}

fn subtasks(input: &mut Input<'_>, version: u32) -> Result<Option<Vec<Subtask>>> {
    let at = input.at();
    let count = input.i32("number of subtasks")?;
    if count < 0 && version >= 3 {
        return Ok(None);
    }
    if count < 0 || count as usize > input.rest().len() / 4 {
        let text = format!("{count}, but {} bytes are left", input.rest().len());
        return Err(input.wrong(at, "number of subtasks", text));
    }
    let mut subtasks = Vec::new();
    for position in 0..count {
        let index = input.i32("subtask index")?;
        let subtask = if index < 0 && version >= 3 {
            Subtask { index: -(index + 1), state: None }
        } else {
            let state = state(input, version).within(|| format!("subtasks[{position}]"))?;
            Subtask { index, state: Some(Box::new(state)) }
        };
        subtasks.push(subtask);
    }
    Ok(Some(subtasks))
}

fn state(input: &mut Input<'_>, version: u32) -> Result<SubtaskState> {
    if version < 3 {
        input.i64("duration")?;
        let at = input.at();
        let legacy = input.i32("number of legacy states")?;
        if legacy > 0 {
            let text = format!("{legacy}, of Flink 1.1, which Flink 2 cannot read either");
            return Err(input.wrong(at, "number of legacy states", text));
        }
    }
    let mut state = SubtaskState {
        managed_operator: operator_state(input).within(|| "managed operator state".into())?,
        raw_operator: operator_state(input).within(|| "raw operator state".into())?,
        managed_keyed: keyed::read(input).within(|| "managed keyed state".into())?,
        raw_keyed: keyed::read(input).within(|| "raw keyed state".into())?,
        ..SubtaskState::default()
    };
    if version >= 3 {
        let channels = channel::read_all(input, version, Side::Input);
        state.input_channels = channels.within(|| "input channels".into())?;
        let channels = channel::read_all(input, version, Side::Output);
        state.output_channels = channels.within(|| "result subpartitions".into())?;
    }
    Ok(state)
}

fn operator_state(input: &mut Input<'_>) -> Result<Option<OperatorState>> {
    if input.i32("whether there is one")? == 0 {
        return Ok(None);
    }
    let at = input.at();
    let code = input.u8("handle type")?;
    match code {
        NO_OPERATOR_STATE => return Ok(None),
        OPERATOR_STATE | MERGED_OPERATOR_STATE => {}
        _ => {
            let text = format!("{code}, which is none of operator state");
            return Err(input.wrong(at, "handle type", text));
        }
    }
    let count = input.count(7, "number of states")?;
    let mut states = Vec::new();
    for index in 0..count {
        states.push(partitioned(input).within(|| format!("states[{index}]"))?);
    }
    let directories = if code == MERGED_OPERATOR_STATE {
        let task_owned = input.utf("task-owned directory")?;
        let shared = input.utf("shared directory")?;
        let empty = input.u8("whether it is empty")? != 0;
        Some(Box::new(MergingDirectories { task_owned, shared, empty }))
    } else {
        None
    };
    let stream = stream::read(input)?;
    Ok(Some(OperatorState { states, directories, stream }))
}

fn partitioned(input: &mut Input<'_>) -> Result<PartitionedState> {
    let name = input.utf("name")?;
    let at = input.at();
    let mode = match input.u8("mode")? {
        0 => Mode::SplitDistribute,
        1 => Mode::Union,
        2 => Mode::Broadcast,
        mode => return Err(input.wrong(at, "mode", mode.to_string())),
    };
    let count = input.count(8, "number of partitions")?;
    let mut offsets = Vec::new();
    for _ in 0..count {
        offsets.push(input.i64("partition offset")?);
    }
    Ok(PartitionedState { name, mode, offsets })
}

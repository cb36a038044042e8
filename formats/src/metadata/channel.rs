//! Reads handles to data in flight, of unaligned checkpoints.
use super::handles::Channel;
use super::input::Input;
use super::stream;
use crate::malformed::Within;
use crate::Result;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Input,
    Output,
}

/// The handles of one side. Only version 6 says of which type they are.
pub fn read_all(input: &mut Input<'_>, version: u32, side: Side) -> Result<Vec<Channel>> {
    let count = input.count(17, "number of handles")?;
    let mut channels = Vec::new();
    for index in 0..count {
        let channel = read(input, version, side);
        channels.push(channel.within(|| format!("handles[{index}]"))?);
    }
    Ok(channels)
}

fn read(input: &mut Input<'_>, version: u32, side: Side) -> Result<Channel> {
    if version < 6 {
        return single(input);
    }
    let at = input.at();
    match (input.u8("handle type")?, side) {
        (1, Side::Input) | (2, Side::Output) => single(input),
        (3, Side::Input) | (4, Side::Output) => merged(input),
        (code, _) => Err(input.wrong(at, "handle type", format!("{code}, which is none of here"))),
    }
}

fn single(input: &mut Input<'_>) -> Result<Channel> {
    let subtask = input.i32("subtask")?;
    let place = (input.i32("gate or partition")?, input.i32("channel or subpartition")?);
    for _ in 0..input.count(8, "number of offsets")? {
        input.i64("offset")?;
    }
    let size = input.size("size")?;
    let stream = stream::read(input)?;
    Ok(Channel { subtask, place: Some(place), size, stream })
}

fn merged(input: &mut Input<'_>) -> Result<Channel> {
    let subtask = input.i32("subtask")?;
    let size = input.size("size")?;
    let stream = stream::read(input)?;
    input.sized("channel offsets")?;
    Ok(Channel { subtask, place: None, size, stream })
}

//! State access: what a keyed state's operations are in terms of its column family. Serializers and
//! state types' logic stand in Java; bytes in `db`.
mod registered;

pub use registered::State;

//! State access: what a keyed state's operations are in terms of its column family. Serializers and
//! state types' logic stand in Java; bytes in `db`, the buffer in front of it in `buffer`.
mod database;
mod registered;
mod timers;
mod ttl;

pub use database::Database;
pub use registered::State;
pub use ttl::kind as ttl_kind;

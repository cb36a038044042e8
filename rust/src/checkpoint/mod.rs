//! Incremental checkpoints: what exists locally, what of it is confirmed elsewhere, what must be
//! uploaded, and the upload. `plan`, `ledger` and `layout` do no I/O.
pub mod layout;
pub mod ledger;
pub mod live;
pub mod plan;
pub mod upload;

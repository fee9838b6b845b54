//! Stores: the contracts for turns and large results, and the stores that implement them.

#[doc(inline)]
pub use haft_core::spool::{
    AlignedBuffer, BlockStart, LineIndex, LineIndexBuilder, LocalRead, ReaderDescriptor,
    SpoolError, SpoolFuture, SpoolKey, SpoolPayload, SpoolReader, SpoolStore, count_newlines,
};
#[doc(inline)]
pub use haft_core::store::{
    GateId, GateRow, InvalidId, Lease, LeaseRequest, MemoryRow, MemoryScope, MemoryScopeKind,
    NewTurn, Row, RowKind, SettleOutcome, StoreError, StoreFuture, StoreWrite, StoredText,
    StoredTurn, TurnId, TurnQuery, TurnStatus, TurnStore, TurnSummary, check_text,
};
#[doc(inline)]
pub use haft_stores::{
    DirGrants, DirLedger, DirSpoolStore, FileSpoolReader, MemorySpoolStore, MemoryStore,
};
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use haft_stores::{SqliteOptions, SqliteStore, Synchronous, TurnDir};

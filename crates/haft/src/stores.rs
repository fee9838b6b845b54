//! Stores: the contracts for turns and large results, and the stores that implement them.

#[doc(inline)]
pub use haft_core::spool::{
    AlignedBuffer, BlockStart, ContentState, KeyScan, LineIndex, LineIndexBuilder, LocalRead,
    ReaderDescriptor, SpoolError, SpoolKey, SpoolPage, SpoolPayload, SpoolReader, SpoolStore,
    count_newlines,
};
#[doc(inline)]
pub use haft_core::store::{
    CancelOutcome, CancelRequest, ChangeListener, ClaimFilter, GateId, GateQuery, GateRow,
    JournalRow, Lease, LeaseRequest, MAX_TITLE_CHARS, Mark, MemoryRow, MemoryScope,
    MemoryScopeKind, NewTurn, Row, RowKind, SettleOutcome, StopReason, StoreChange,
    StoreChangeKind, StoreError, StoreKey, StoreWrite, StoredTurn, SummaryUpdate, TurnId,
    TurnQuery, TurnSchedule, TurnStatus, TurnStore, TurnStoreExt, TurnSummary, check_text,
    check_title, first_words, search_words,
};
#[doc(inline)]
pub use haft_stores::{
    DirApprovals, DirSpoolStore, FileSpoolReader, MemorySpoolStore, MemoryStore,
};
#[doc(inline)]
pub use haft_stores::{InvalidStoreUrl, SpoolUrl, StoreUrl};
#[cfg(feature = "object-store")]
#[doc(inline)]
pub use haft_stores::{ObjectOptions, ObjectSpoolStore, object_store};
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use haft_stores::{OpenStores, StoreOptions};
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use haft_stores::{PostgresApprovals, PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use haft_stores::{SqliteOptions, SqliteStore, Synchronous, TurnDir};

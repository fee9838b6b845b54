//! Media: images, audio, video and documents, and the readers that load them.

#[doc(inline)]
pub use haft_core::media::{
    Base64Stream, InvalidMedia, Media, MediaError, MediaFault, MediaFile, MediaId, MediaKind,
    MediaReader, MediaStashEntry, MemoryReader, ReaderDescriptor, ReaderResolvers, decode_base64,
    encode_base64, sniff_media_type,
};
#[cfg(feature = "http")]
#[doc(inline)]
pub use haft_tools::readers::{
    ErrorBody, FetchDeadlines, FetchError, FetchRequest, FetchResponse, Fetcher, FetcherBuilder,
    HttpMethod, HttpPhase, HttpReader, UrlPolicy, UrlRefusal,
};
#[doc(inline)]
pub use haft_tools::readers::{
    FileError, FileReader, FileRoots, MAX_BYTES, StoredError, StoredReader, store_media,
};

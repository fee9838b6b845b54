//! How stored records find the content that is stored outside them.

use std::fmt;
use std::sync::Arc;

use super::LoadError;
use crate::BoxFuture;
use crate::artifact::{ArtifactRecord, SpooledArtifact};
use crate::media::{Media, MediaRecord, ReaderResolvers};
use crate::spool::{ReaderDescriptor, SpoolError, SpoolReader};

/// Opens stored content by the descriptor of its reader.
pub trait SpoolResolver: fmt::Debug + Send + Sync {
    /// Whether descriptors with this tag are its own.
    fn knows(&self, tag: &str) -> bool;

    /// A reader of the content that a descriptor describes, or `None` if it is not here.
    fn open<'a>(
        &'a self,
        reader: &'a ReaderDescriptor,
    ) -> BoxFuture<'a, Result<Option<Arc<dyn SpoolReader>>, SpoolError>>;
}

/// Opens the media and artifacts that stored records describe. The application fills it, and so decides what a stored
/// record can open.
#[derive(Clone, Debug, Default)]
pub struct RecordLoader {
    media: ReaderResolvers,
    spools: Vec<Arc<dyn SpoolResolver>>,
}

impl RecordLoader {
    /// A loader that knows media whose bytes are in the record, and no spools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Finds media with these resolvers, and with no others.
    #[must_use]
    pub fn media(mut self, resolvers: ReaderResolvers) -> Self {
        self.media = resolvers;
        self
    }

    /// Finds artifacts in one more spool. The first that has the content wins.
    #[must_use]
    pub fn spool(mut self, resolver: Arc<dyn SpoolResolver>) -> Self {
        self.spools.push(resolver);
        self
    }

    /// Loads a media item from its stored form.
    ///
    /// # Errors
    ///
    /// It breaks a rule, or nothing can open its reader.
    pub fn load_media(&self, record: MediaRecord) -> Result<Media, LoadError> {
        Ok(record.load(&self.media)?)
    }

    /// Loads an artifact from its stored form. An artifact whose content is missing is loaded too: its queries fail,
    /// and its turn continues.
    ///
    /// # Errors
    ///
    /// No spool is registered for the tag, or one failed.
    pub async fn load_artifact(
        &self,
        record: ArtifactRecord,
    ) -> Result<SpooledArtifact, LoadError> {
        let wanted = record.reader();
        let mut known = false;
        for spool in self.spools.iter().filter(|it| it.knows(&wanted.tag)) {
            known = true;
            if let Some(reader) = spool.open(wanted).await? {
                return Ok(record.load(reader));
            }
        }
        if known {
            Ok(record.load_lost())
        } else {
            Err(LoadError::NoResolver { tag: wanted.tag.clone() })
        }
    }
}

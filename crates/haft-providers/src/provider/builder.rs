//! Making a provider.

use std::fmt;
use std::sync::Arc;

use haft_core::tokens::Estimators;

use super::{Exposure, GenerationReport, Observers, PromptReport, Provider, ProviderError, Shared};
use crate::assemble::MediaCache;
use crate::dialect::Dialect;
use crate::options::{OptionSchema, Options};
use crate::retry::RetryPolicy;
use crate::secret::random_secret;
use crate::summary::RollingSummary;
use crate::transport::{Secret, Transport, TransportError};

/// A provider that is still being put together.
#[must_use = "a builder does nothing until `build` is called"]
pub struct ProviderBuilder<D> {
    dialect: D,
    model: String,
    options: Options,
    base_url: Option<String>,
    key: Option<Secret>,
    exposure: Exposure,
    transport: Option<Arc<dyn Transport>>,
    retry: RetryPolicy,
    estimators: Estimators,
    secret: Option<[u8; 32]>,
    observers: Observers,
    rolling: Option<RollingSummary>,
    media_cache_bytes: u64,
}

impl<D: Dialect> ProviderBuilder<D> {
    pub(super) fn new(dialect: D, model: String) -> Self {
        Self {
            dialect,
            model,
            options: Options::new(),
            base_url: None,
            key: None,
            exposure: Exposure::Refused,
            transport: None,
            retry: RetryPolicy::default(),
            estimators: Estimators::default(),
            secret: None,
            observers: Observers::default(),
            rolling: None,
            media_cache_bytes: 64 << 20,
        }
    }

    /// Where requests go, in place of the provider's own address. One slash at the end is dropped.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// The key. Without one, requests carry none.
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Lets keys go over plain http to other machines, where everybody on the way can read them; for networks that are
    /// somebody's own. To this machine they always may.
    pub fn allow_key_over_plain_http(mut self) -> Self {
        self.exposure = Exposure::Allowed;
        self
    }

    /// The lowest layer of options, in place of what was given before.
    pub fn options(mut self, options: impl Into<Options>) -> Self {
        self.options = options.into();
        self
    }

    /// What sends requests; HTTP with bounds on every wait if not said.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// What is tried again. The option `retry` changes it by key.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// What counts tokens, for the option `tokenEncoding`; rules of thumb if not said.
    pub fn estimators(mut self, estimators: Estimators) -> Self {
        self.estimators = estimators;
        self
    }

    /// Summarises what was said long ago, so that a long conversation fits; see [`summary`](crate::summary).
    pub fn rolling_summary(mut self, summary: RollingSummary) -> Self {
        self.rolling = Some(summary);
        self
    }

    /// How many bytes of encoded media are kept from one iteration to the next, all turns together; 64 MiB. Zero keeps
    /// none, so that every request reads its media anew.
    pub fn media_cache_bytes(mut self, most: u64) -> Self {
        self.media_cache_bytes = most;
        self
    }

    /// 32 secret, random bytes from which the names of envelopes are derived; drawn anew if not said. Give the same ones
    /// in every process that may resume a turn, so that the provider's prompt cache still fits.
    pub fn envelope_secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Sees every request before it is sent, without its key. What the turn says is in it.
    pub fn on_prompt(
        mut self,
        observer: impl Fn(&PromptReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.prompt.push(Arc::new(observer));
        self
    }

    /// Sees every answer.
    pub fn on_generation(
        mut self,
        observer: impl Fn(&GenerationReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.generation.push(Arc::new(observer));
        self
    }

    /// The provider.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the options, no transport can be made, or the key would go over plain http to
    /// another machine.
    pub fn build(self) -> Result<Provider<D>, ProviderError> {
        let schema = OptionSchema::of(&self.dialect);
        let options = match self.options.get("model") {
            Some(_) => self.options,
            None => self.options.with("model", self.model),
        };
        let resolved = schema.resolve(&self.dialect, &[&options], &self.estimators)?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => standard().map_err(|source| ProviderError::NoTransport { source })?,
        };
        let url = self.base_url.unwrap_or_else(|| self.dialect.base_url().to_owned());
        let shared = Shared {
            dialect: self.dialect,
            schema,
            options,
            base_url: url.strip_suffix('/').map_or_else(|| url.clone(), str::to_owned),
            key: self.key,
            exposure: self.exposure,
            transport,
            retry: self.retry,
            estimators: self.estimators,
            secret: self.secret.unwrap_or_else(random_secret),
            observers: self.observers,
            rolling: self.rolling,
            media_cache: MediaCache::new(self.media_cache_bytes),
        };
        shared.guard_key(&resolved.control)?;
        let (overrides, resolved) = (Options::new(), Arc::new(resolved));
        Ok(Provider { shared: Arc::new(shared), overrides, resolved })
    }
}

impl<D: Dialect> fmt::Debug for ProviderBuilder<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderBuilder")
            .field("dialect", &self.dialect.name())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The transport of those who bring none.
#[cfg(feature = "http")]
fn standard() -> Result<Arc<dyn Transport>, TransportError> {
    let transport = crate::transport::HttpTransport::builder().build()?;
    Ok(Arc::new(transport))
}

/// The transport of those who bring none.
#[cfg(not(feature = "http"))]
fn standard() -> Result<Arc<dyn Transport>, TransportError> {
    let reason = "give the builder a transport, or switch the feature `http` on".to_owned();
    Err(TransportError::Unusable { reason })
}

//! Configures a provider.

use std::fmt;
use std::sync::Arc;

use haft_core::tokens::Estimators;
use haft_core::trust::EnvelopeSecret;

use super::{
    GenerationReport, KeyExposure, Observers, PromptReport, Provider, ProviderError, ProviderState,
};
use crate::assembly::{MediaCache, RenderCache};
use crate::context_window::TokenCache;
use crate::dialect::Dialect;
use crate::options::{OptionSchema, Options};
use crate::retry::RetryPolicy;
use crate::summary::RollingSummary;
use crate::transport::{HttpError, Secret, Transport};

/// Configures a [`Provider`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ProviderBuilder {
    name: Option<String>,
    dialect: Arc<dyn Dialect>,
    model: String,
    options: Options,
    base_url: Option<String>,
    key: Option<Secret>,
    exposure: KeyExposure,
    transport: Option<Arc<dyn Transport>>,
    retry: RetryPolicy,
    estimators: Estimators,
    secret: Option<[u8; 32]>,
    observers: Observers,
    rolling: Option<RollingSummary>,
    media_cache_bytes: u64,
    render_cache_bytes: u64,
}

impl ProviderBuilder {
    /// Configures a provider with a dialect that is chosen when the program runs; see
    /// [`Provider::builder`](crate::Provider::builder) otherwise.
    pub fn new(dialect: Arc<dyn Dialect>, model: impl Into<String>) -> Self {
        Self {
            name: None,
            dialect,
            model: model.into(),
            options: Options::new(),
            base_url: None,
            key: None,
            exposure: KeyExposure::Refused,
            transport: None,
            retry: RetryPolicy::default(),
            estimators: Estimators::default(),
            secret: None,
            observers: Observers::default(),
            rolling: None,
            media_cache_bytes: 64 << 20,
            render_cache_bytes: 64 << 20,
        }
    }

    /// Sets the name of the provider in stored turns; by default that of the dialect. Several providers can use one
    /// dialect.
    ///
    /// ```
    /// use haft_core::step::DispatchExecutor as _;
    /// use haft_providers::Provider;
    /// use haft_providers::dialects::chat_completions::ChatCompletions;
    ///
    /// let model = Provider::builder(ChatCompletions::new(), "m").name("local").key("k").build()?;
    /// assert_eq!(model.description().to_string(), "model `m` of `local`");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the base address of requests, in place of the default of the dialect. One slash at the end is dropped.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the API key. Without one, requests carry none.
    pub fn key(mut self, key: impl Into<Secret>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Allows keys over plain http to other machines, where anyone on the way can read them; for private networks. Keys to
    /// this machine are always allowed.
    ///
    /// ```
    /// use haft_providers::Provider;
    /// use haft_providers::dialects::chat_completions::ChatCompletions;
    ///
    /// let builder = || {
    ///     Provider::builder(ChatCompletions::new(), "m").base_url("http://models.internal/v1").key("k")
    /// };
    /// assert!(builder().build().is_err());
    /// assert!(builder().allow_key_over_plain_http().build().is_ok());
    /// ```
    pub fn allow_key_over_plain_http(mut self) -> Self {
        self.exposure = KeyExposure::Allowed;
        self
    }

    /// Sets the lowest layer of options, in place of an earlier one.
    pub fn options(mut self, options: impl Into<Options>) -> Self {
        self.options = options.into();
        self
    }

    /// Sets the transport; by default an `HttpTransport` with its default limits.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Sets the retry policy. The option `retry` changes it by key.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Sets the counters of tokens for the option `tokenEncoding`; estimates by default.
    pub fn estimators(mut self, estimators: Estimators) -> Self {
        self.estimators = estimators;
        self
    }

    /// Summarizes old exchanges, so that a long conversation fits; see [`summary`](crate::summary).
    pub fn rolling_summary(mut self, summary: RollingSummary) -> Self {
        self.rolling = Some(summary);
        self
    }

    /// Sets how many bytes of encoded media are cached from one iteration to the next, for all turns together; 64 MiB by
    /// default. With zero, every request reads its media again.
    pub fn media_cache_bytes(mut self, most: u64) -> Self {
        self.media_cache_bytes = most;
        self
    }

    /// Sets how many bytes of rendered records are cached from one iteration to the next, for all turns together; 64 MiB by
    /// default. With zero, every request renders all its records again, to the same bytes.
    pub fn render_cache_bytes(mut self, most: u64) -> Self {
        self.render_cache_bytes = most;
        self
    }

    /// Sets 32 secret, random bytes from which the names of envelopes are derived in turns whose runner has no secret for
    /// envelopes; by default they are drawn for each provider. A runner that stores its secret (or has a directory) gives
    /// every turn its key, and these bytes are not used.
    pub fn envelope_secret(mut self, secret: [u8; 32]) -> Self {
        self.secret = Some(secret);
        self
    }

    /// Adds an observer of every request before it is sent. The request contains the content of the turn, but no key.
    pub fn on_prompt(
        mut self,
        observer: impl Fn(&PromptReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.prompt.push(Arc::new(observer));
        self
    }

    /// Adds an observer of every response.
    pub fn on_generation(
        mut self,
        observer: impl Fn(&GenerationReport<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.observers.generation.push(Arc::new(observer));
        self
    }

    /// Builds the provider.
    ///
    /// # Errors
    ///
    /// All problems of the options; no transport can be made; the operating system has no random bytes for the envelope
    /// secret; or the key would go over plain http to another machine.
    pub fn build(self) -> Result<Provider, ProviderError> {
        let schema = OptionSchema::for_dialect(&*self.dialect);
        let options = match self.options.get("model") {
            Some(_) => self.options,
            None => self.options.with("model", self.model),
        };
        let resolved = schema.resolve(&*self.dialect, &[&options], &self.estimators)?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => default_transport().map_err(|source| ProviderError::NoTransport { source })?,
        };
        let secret = self.secret.map_or_else(random_secret, Ok);
        let secret =
            secret.map_err(|error| ProviderError::NoRandomBytes { source: error.into() })?;
        let url = self.base_url.unwrap_or_else(|| self.dialect.base_url().to_owned());
        let state = ProviderState {
            name: self.name.unwrap_or_else(|| self.dialect.name().to_owned()),
            dialect: self.dialect,
            schema,
            options,
            base_url: url.strip_suffix('/').map_or_else(|| url.clone(), str::to_owned),
            key: self.key,
            exposure: self.exposure,
            transport,
            retry: self.retry,
            estimators: self.estimators,
            token_cache: TokenCache::default(),
            secret: EnvelopeSecret::from_bytes(secret),
            observers: self.observers,
            rolling_summary: self.rolling,
            media_cache: MediaCache::new(self.media_cache_bytes),
            render_cache: RenderCache::new(self.render_cache_bytes),
        };
        state.check_key_exposure(&resolved.control)?;
        let (overrides, resolved) = (Options::new(), Arc::new(resolved));
        Ok(Provider { state: Arc::new(state), overrides, resolved })
    }
}

impl fmt::Debug for ProviderBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderBuilder")
            .field("dialect", &self.dialect.name())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The transport of a provider without a custom one.
#[cfg(feature = "http")]
fn default_transport() -> Result<Arc<dyn Transport>, HttpError> {
    let transport = crate::transport::HttpTransport::builder().build()?;
    Ok(Arc::new(transport))
}

/// The transport of a provider without a custom one.
#[cfg(not(feature = "http"))]
fn default_transport() -> Result<Arc<dyn Transport>, HttpError> {
    let reason = "give the builder a transport, or switch the feature `http` on".to_owned();
    Err(HttpError::Unusable { reason })
}

/// Reads 32 random bytes from the operating system.
fn random_secret() -> Result<[u8; 32], getrandom::Error> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret)?;
    Ok(secret)
}

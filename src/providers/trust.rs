//! Owns the TLS settings of all HTTP clients: trusted authorities and protocols.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::{BuilderVerifierExt as _, Verifier};

use crate::config::Config;

/// The authorities of the machine, and those that the configuration adds to them.
#[derive(Clone, Debug, Default)]
pub struct Trust(Arc<[CertificateDer<'static>]>);

impl Trust {
    /// What `tls.ca_file` adds.
    ///
    /// # Errors
    /// The file cannot be read, or holds no certificate.
    pub fn of(config: &Config) -> Result<Self, String> {
        config.tls.ca_file.as_deref().map_or_else(|| Ok(Self::default()), Self::read)
    }

    fn read(file: &Path) -> Result<Self, String> {
        let unusable = |why: String| format!("`tls.ca_file` `{}` cannot be used: {why}", file.display());
        let found = CertificateDer::pem_file_iter(file).map_err(|problem| unusable(problem.to_string()))?;
        let found = found.collect::<Result<Vec<_>, _>>().map_err(|problem| unusable(problem.to_string()))?;
        let mut roots = RootCertStore::empty();
        for certificate in &found {
            roots.add(certificate.clone()).map_err(|problem| unusable(problem.to_string()))?;
        }
        if found.is_empty() { Err(unusable("it holds no certificate in PEM".to_owned())) } else { Ok(Self(found.into())) }
    }

    /// TLS with a crypto provider of its own: a library must not install a global one.
    pub(super) fn tls(&self) -> Result<ClientConfig, String> {
        let told = |problem: rustls::Error| format!("TLS could not be set up: {problem}");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = || ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let mut config = if self.0.is_empty() {
            match builder().map_err(told)?.with_platform_verifier() {
                Ok(verified) => verified.with_no_client_auth(),
                // A machine without root certificates can still reach providers by plain HTTP.
                Err(_) => builder().map_err(told)?.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
            }
        } else {
            let verifier = Verifier::new_with_extra_roots(self.0.iter().cloned(), Arc::clone(&provider)).map_err(told)?;
            builder().map_err(told)?.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        };
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

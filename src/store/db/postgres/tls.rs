//! Owns TLS of a connection: rustls with its own crypto provider, never the global one.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::db::postgres::address::Trust;
use crate::store::error::StoreError;

/// How connections to a server are encrypted.
pub(super) fn connector(trust: &Trust) -> Result<MakeRustlsConnect, StoreError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions().map_err(error_of)?;
    let config = match trust {
        Trust::Any => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))).with_no_client_auth(),
        Trust::Authorities(None) => builder.with_platform_verifier().map_err(error_of)?.with_no_client_auth(),
        Trust::Authorities(Some(file)) => builder.with_root_certificates(authorities(file)?).with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to `map_err`")]
fn error_of(error: rustls::Error) -> StoreError {
    StoreError::Place(format!("encryption to the database could not be set up: {error}"))
}

fn authorities(file: &Path) -> Result<RootCertStore, StoreError> {
    let unreadable = |why: String| StoreError::Place(format!("`sslrootcert` `{}` cannot be used: {why}", file.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(error.to_string()))? {
        let certificate = certificate.map_err(|error| unreadable(error.to_string()))?;
        roots.add(certificate).map_err(|error| unreadable(error.to_string()))?;
    }
    if roots.is_empty() { Err(unreadable("it holds no certificate".to_owned())) } else { Ok(roots) }
}

/// Takes every certificate, as `sslmode=require` asks; signatures are checked all the same.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

//! Owns how a provider under test is reached: in clear text, through TLS, and through TLS over HTTP/2, with certificates made here.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::PrivatePkcs8KeyDer;

/// What is under the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// HTTP/1.1 in clear text.
    Clear,
    /// HTTP/1.1 through TLS.
    Tls1,
    /// HTTP/2 through TLS.
    Tls2,
}

pub const CARRIERS: [Carrier; 3] = [Carrier::Clear, Carrier::Tls1, Carrier::Tls2];

/// Any connection.
pub trait Connection: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Connection for T {}
pub type Io = Pin<Box<dyn Connection>>;

impl Carrier {
    /// How an address begins.
    pub const fn scheme(self) -> &'static str {
        if matches!(self, Self::Clear) { "http" } else { "https" }
    }

    /// A connection that somebody opened.
    pub async fn accept(self, connection: TcpStream) -> std::io::Result<Io> {
        let protocol: &[u8] = match self {
            Self::Clear => return Ok(Box::pin(connection)),
            Self::Tls1 => b"http/1.1",
            Self::Tls2 => b"h2",
        };
        let acceptor = AUTHORITY.acceptor("127.0.0.1", protocol);
        Ok(Box::pin(acceptor.accept(connection).await?))
    }
}

/// Who signs certificates of tests.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: PathBuf,
}

/// The one that the studios of these tests trust.
pub static AUTHORITY: LazyLock<Authority> = LazyLock::new(|| Authority::new("trusted"));

impl Authority {
    /// A new one, with its certificate in a file.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("authority-{name}-{}.pem", std::process::id()));
        std::fs::write(&file, certificate.pem()).expect("a file");
        Self { issuer: Issuer::new(params, key), file }
    }

    /// Its certificate, as `tls.ca_file` takes it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// A server with a certificate for this name that speaks this protocol alone.
    pub fn acceptor(&self, name: &str, protocol: &[u8]) -> TlsAcceptor {
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
        let config = config.expect("protocols").with_no_client_auth();
        let key = PrivatePkcs8KeyDer::from(key.serialize_der());
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key.into()).expect("a pair");
        config.alpn_protocols = vec![protocol.to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

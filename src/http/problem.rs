//! Owns the encoding of an error: a problem document, or a page for a browser.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use serde_json::{Map, Value};

use super::area::{Area, Place};
use super::routes::documents;
use super::{details, pages, settings};
use crate::config::Config;
use crate::error::{Error, Kind};
use crate::model::texts::Locale;

/// How the one who asks wants to be answered.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    /// A browser that shows a page.
    pub(super) wants_page: bool,
    /// In Portuguese rather than English.
    pub(super) portuguese: bool,
    /// From the page that was asked for to the studio's root; nothing where no page is wanted.
    pub(super) root: String,
    /// The project's own page for errors; read only where a page is wanted.
    pub(super) template: Option<String>,
}

impl Asker {
    /// Pages are for those who name HTML, and never under the export prefix or `/api`, but for documents that a browser opens.
    pub(super) fn of(config: &Config, headers: &HeaderMap, area: &Area, base_url: Option<&str>) -> Self {
        let api = area.rest == "/api" || (area.rest.starts_with("/api/") && !documents::is_opened(&area.rest));
        let wants_page = area.place == Place::Studio && !api && names_html(headers);
        let portuguese = in_portuguese(headers).unwrap_or_else(|| settings::in_portuguese(config));
        let root = if wants_page { area.root(base_url) } else { String::new() };
        let template = wants_page.then(|| pages::problem_template(config)).flatten();
        Self { wants_page, portuguese, root, template }
    }

    /// The language in which the studio is to speak.
    pub(super) const fn locale(&self) -> Locale {
        if self.portuguese { Locale::PtBr } else { Locale::En }
    }

    /// The language of pages, as HTML names it.
    pub(super) const fn language(&self) -> &'static str {
        if self.portuguese { "pt-BR" } else { "en" }
    }

    pub(super) fn tell(&self, mut error: Error) -> Response {
        if self.portuguese {
            translate(&mut error);
        }
        number_fault(&mut error);
        let kind = error.kind;
        let status = StatusCode::from_u16(kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = if self.wants_page {
            let title = self.title(kind);
            pages::problem_page(self, status.as_u16(), title, &error)
        } else {
            let body = serde_json::to_vec(&self.document(error)).unwrap_or_default();
            let mut response = Response::new(Body::from(body));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
            response
        };
        *response.status_mut() = status;
        if let Some(seconds) = retry_after(kind) {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(seconds));
        }
        response
    }

    /// What the studio says in an answer that is no problem, in the language of the one who asks.
    pub(super) fn say(&self, sentence: Option<&mut Value>) {
        if self.portuguese {
            sentence.into_iter().for_each(say);
        }
    }

    fn title(&self, kind: Kind) -> &'static str {
        let (english, portuguese) = titles(kind);
        if self.portuguese { portuguese } else { english }
    }

    fn document(&self, error: Error) -> Value {
        let mut out = Map::new();
        out.insert("type".into(), format!("urn:studio:problem:{}", error.kind.code()).into());
        out.insert("title".into(), self.title(error.kind).into());
        out.insert("status".into(), error.kind.status().into());
        out.insert("detail".into(), error.message.as_str().into());
        out.insert("code".into(), error.kind.code().into());
        out.insert("message".into(), error.message.as_str().into());
        out.extend(error.members);
        Value::Object(out)
    }
}

/// The document of an error in English, for doors that are no routes.
pub(crate) fn document(mut error: Error) -> Value {
    number_fault(&mut error);
    Asker { wants_page: false, portuguese: false, root: String::new(), template: None }.document(error)
}

/// An internal error gets a number under which the log has its cause.
fn number_fault(error: &mut Error) {
    if error.kind == Kind::Internal && !error.members.contains_key("request_id") {
        let request_id = uuid::Uuid::new_v4().to_string();
        tracing::error!(request_id, cause = ?error.source, "{}", error.message);
        error.members.insert("request_id".into(), request_id.into());
    }
}

/// Encodes a problem of this kind in the configured language, as routes do.
pub(crate) fn in_language_of(config: &Config, kind: Kind, document: &mut Value) {
    let Value::Object(members) = document else { return };
    if !settings::in_portuguese(config) {
        return;
    }
    members.insert("title".into(), titles(kind).1.into());
    for name in ["detail", "message"] {
        members.get_mut(name).into_iter().for_each(say);
    }
    say_fields(members);
}

/// The sentences of a problem in Portuguese, those of its fields too.
fn translate(error: &mut Error) {
    error.message = details::portuguese(&error.message);
    say_fields(&mut error.members);
}

fn say_fields(members: &mut Map<String, Value>) {
    let fields = members.get_mut("errors").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut);
    fields.filter_map(Value::as_array_mut).flatten().for_each(say);
    let issues = members.get_mut("issues").and_then(Value::as_array_mut).into_iter().flatten();
    issues.filter_map(|issue| issue.get_mut("message")).for_each(say);
}

fn say(sentence: &mut Value) {
    if let Value::String(text) = sentence {
        *text = details::portuguese(text);
    }
}

/// The language that a person chose, who may read in another one than the host's: the pages ask for it, an address
/// that a browser opens brings it as a cookie.
fn in_portuguese(headers: &HeaderMap) -> Option<bool> {
    let asked = headers.get("x-studio-locale").and_then(|value| value.to_str().ok()).and_then(portuguese);
    asked.or_else(|| cookies(headers).filter_map(|cookie| cookie.strip_prefix("studio_locale=")).find_map(portuguese))
}

fn portuguese(locale: &str) -> Option<bool> {
    match locale {
        "pt_BR" => Some(true),
        "en" => Some(false),
        _ => None,
    }
}

fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let sent = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    sent.flat_map(|value| value.split(';')).map(str::trim)
}

/// Is `text/html` named, and not with `q=0`?
fn names_html(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    named.flat_map(|value| value.split(',')).any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let html = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("text/html"));
        html && !parts.any(|part| part.strip_prefix("q=").is_some_and(|q| q.parse() == Ok(0.0)))
    })
}

const fn retry_after(kind: Kind) -> Option<&'static str> {
    match kind.status() {
        429 => Some("1"),
        503 => Some("5"),
        _ => None,
    }
}

const fn titles(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::MalformedJson => ("Malformed JSON", "JSON malformado"),
        Kind::Unauthenticated => ("Not authenticated", "Não autenticado"),
        Kind::Forbidden => ("Forbidden", "Acesso negado"),
        Kind::CrossOrigin => ("Request from another site", "Requisição de outro site"),
        Kind::FlagDisabled => ("Switched off", "Desativado"),
        Kind::NotFound => ("Not found", "Não encontrado"),
        Kind::RouteDisabled => ("Route switched off", "Rota desativada"),
        Kind::MethodNotAllowed => ("Method not allowed", "Método não permitido"),
        Kind::InvalidState => ("Not possible in this state", "Não é possível neste estado"),
        Kind::PauseNotPending => ("No such open pause", "Não há essa pausa em aberto"),
        Kind::PauseAmbiguous => ("Several pauses fit", "Várias pausas correspondem"),
        Kind::AlreadyResumed => ("Already answered", "Já respondido"),
        Kind::CheckpointInvalid => ("Unreadable pause", "Pausa ilegível"),
        Kind::RevisionConflict => ("Changed in the meantime", "Alterado nesse meio-tempo"),
        Kind::SlugTaken => ("Slug in use", "Slug em uso"),
        Kind::InUse => ("In use", "Em uso"),
        Kind::Locked => ("Locked", "Bloqueado"),
        Kind::ThreadBusy => ("Session busy", "Sessão ocupada"),
        Kind::IdempotencyInProgress => ("First request still running", "Primeira requisição em andamento"),
        Kind::BodyTooLarge => ("Body too large", "Corpo grande demais"),
        Kind::AttachmentTooLarge => ("File too large", "Arquivo grande demais"),
        Kind::UnsupportedMediaType => ("Unsupported media type", "Tipo de mídia não suportado"),
        Kind::ValidationFailed => ("Invalid request", "Requisição inválida"),
        Kind::GraphInvalid => ("Invalid graph", "Grafo inválido"),
        Kind::WrongAnswerKind => ("Wrong kind of answer", "Tipo de resposta incorreto"),
        Kind::IdempotencyKeyReused => ("Key used for another request", "Chave usada em outra requisição"),
        Kind::ImportInvalid => ("Cannot be imported", "Não pode ser importado"),
        Kind::TooManyStreams => ("Too many streams", "Transmissões demais"),
        Kind::TooManyRuns => ("Too many runs", "Execuções demais"),
        Kind::Internal => ("Internal error", "Erro interno"),
        Kind::AsyncDisabled => ("Async runs are off", "Execuções assíncronas desativadas"),
        Kind::UpstreamFailed => ("Upstream failed", "Falha no serviço externo"),
        Kind::StoreUnavailable => ("Database unavailable", "Banco de dados indisponível"),
        Kind::ShuttingDown => ("Shutting down", "Encerrando"),
    }
}

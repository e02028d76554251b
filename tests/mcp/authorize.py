"""Plays the application that answers `mcp.authorize`: reads what the studio asks, goes the way of OAuth 2.1 with the server's own words, prints a token.

The authorization servers of the conformance suite agree at once, so nobody has to log in.
"""

import base64
import hashlib
import json
import os
import pathlib
import re
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

REDIRECT = "http://127.0.0.1:9/callback"
CLIENT_PAGE = "https://conformance-test.local/client-metadata.json"


class Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def fetch(url, form=None, body=None, headers=()):
    """Status, headers, JSON or none."""
    data = urllib.parse.urlencode(form).encode() if form is not None else json.dumps(body).encode() if body is not None else None
    request = urllib.request.Request(url, data=data, headers=dict(headers))
    if body is not None:
        request.add_header("content-type", "application/json")
    try:
        answer = urllib.request.build_opener(Stay).open(request, timeout=5)
    except urllib.error.HTTPError as refused:
        answer = refused
    text = answer.read()
    try:
        return answer.status, answer.headers, json.loads(text)
    except ValueError:
        return answer.status, answer.headers, None


def found(urls):
    """The first of some documents that is there."""
    for url in urls:
        status, _, document = fetch(url)
        if status == 200 and isinstance(document, dict):
            return document
    return None


def said(challenge, name):
    match = re.search(rf'{name}="([^"]*)"', challenge)
    return match.group(1) if match else None


def well_known(url, *names):
    """Where a document about a URL may be: before its path, behind it."""
    parts = urllib.parse.urlsplit(url)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    return [f"{origin}/.well-known/{name}{path}" for name in names] + ([f"{origin}{path}/.well-known/{names[-1]}"] if path else [])


def protected(url, challenge):
    named = said(challenge, "resource_metadata")
    parts = urllib.parse.urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    places = [named] if named else well_known(url, "oauth-protected-resource")[:1] + well_known(root, "oauth-protected-resource")
    document = found(places)
    if document and document.get("resource") and not url.startswith(document["resource"].rstrip("/")):
        sys.exit(f"the server speaks for {document['resource']}, not for {url}")
    return document or {}


def authority(url, resource):
    """The metadata of the authorization server; where there is none, the usual places."""
    parts = urllib.parse.urlsplit(url)
    root = f"{parts.scheme}://{parts.netloc}"
    named = (resource.get("authorization_servers") or [None])[0]
    base = named or root
    document = found(well_known(base, "oauth-authorization-server", "openid-configuration"))
    if document and named and document.get("issuer") != named:
        sys.exit(f"the metadata of {named} speaks for {document.get('issuer')}")
    return document or {
        "authorization_endpoint": f"{root}/authorize", "token_endpoint": f"{root}/token", "registration_endpoint": f"{root}/register",
    }


def client(server, context):
    """Who asks: known before, known by a page, or made known now; with the way in which its secret is told."""
    ways = server.get("token_endpoint_auth_methods_supported") or ["client_secret_basic"]
    if context.get("client_id"):
        return context["client_id"], context.get("client_secret"), ways[0]
    if server.get("client_id_metadata_document_supported"):
        return CLIENT_PAGE, None, "none"
    wanted = {"client_name": "Studio", "application_type": "native", "redirect_uris": [REDIRECT], "grant_types": ["authorization_code", "refresh_token"],
              "response_types": ["code"], "token_endpoint_auth_method": ways[0]}
    _, _, made = fetch(server["registration_endpoint"], body=wanted)
    return made["client_id"], made.get("client_secret"), made.get("token_endpoint_auth_method") or (ways[0] if made.get("client_secret") else "none")


def token(server, form, who, secret, way):
    headers = {}
    if way == "client_secret_basic" and secret:
        pair = f"{urllib.parse.quote(who)}:{urllib.parse.quote(secret)}"
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form["client_id"] = who
        if way == "client_secret_post" and secret:
            form["client_secret"] = secret
    status, _, answer = fetch(server["token_endpoint"], form=form, headers=headers)
    if status != 200:
        sys.exit(f"no token: {status} {answer}")
    return answer["access_token"]


def by_itself(server, context, form):
    """A client that nobody stands behind: its secret or its key suffices."""
    form["grant_type"] = "client_credentials"
    if "private_key_pem" not in context:
        return token(server, form, context["client_id"], context["client_secret"], "client_secret_basic")
    import jwt

    now = int(time.time())
    claims = {"iss": context["client_id"], "sub": context["client_id"], "aud": server["issuer"], "iat": now, "exp": now + 60, "jti": secrets.token_hex(8)}
    form["client_assertion_type"] = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    form["client_assertion"] = jwt.encode(claims, context["private_key_pem"], algorithm=context.get("signing_algorithm", "ES256"))
    return token(server, form, context["client_id"], None, "private_key_jwt")


def by_an_employer(server, context, form):
    """A person who is known at work: the employer's token is changed for one that is good for this server alone."""
    known = {"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": context["idp_id_token"],
             "subject_token_type": "urn:ietf:params:oauth:token-type:id_token", "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
             "audience": server["issuer"], "resource": form["resource"], "client_id": context["idp_client_id"]}
    status, _, answer = fetch(context["idp_token_endpoint"], form=known)
    if status != 200:
        sys.exit(f"not known at work: {status} {answer}")
    form |= {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": answer["access_token"]}
    return token(server, form, context["client_id"], context["client_secret"], "client_secret_basic")


def by_a_workload(server, context, form):
    """A program that its platform vouches for."""
    form |= {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": context["valid_jwt"]}
    return token(server, form, context["client_id"], None, "none")


def way_of(server, context):
    if "idp_id_token" in context:
        return by_an_employer
    if "valid_jwt" in context:
        return by_a_workload
    return by_itself if server.get("grant_types_supported") == ["client_credentials"] else by_a_person


def by_a_person(server, context, form):
    who, secret, way = client(server, context)
    proof, state = secrets.token_urlsafe(48), secrets.token_urlsafe(16)
    digest = base64.urlsafe_b64encode(hashlib.sha256(proof.encode()).digest()).rstrip(b"=").decode()
    asked = {**form, "response_type": "code", "client_id": who, "redirect_uri": REDIRECT, "state": state, "code_challenge": digest,
             "code_challenge_method": "S256"}
    status, headers, _ = fetch(f"{server['authorization_endpoint']}?{urllib.parse.urlencode(asked)}")
    came = urllib.parse.parse_qs(urllib.parse.urlsplit(headers.get("location") or "").query)
    if came.get("state") != [state]:
        sys.exit(f"no code: {status} {came}")
    says_whose = "iss" in came or server.get("authorization_response_iss_parameter_supported")
    if says_whose and came.get("iss") != [server.get("issuer")]:
        sys.exit(f"the code is of {came.get('iss')}, not of {server.get('issuer')}")
    more = {"grant_type": "authorization_code", "code": came["code"][0], "redirect_uri": REDIRECT, "code_verifier": proof}
    return token(server, {**more, **{key: form[key] for key in form if key == "resource"}}, who, secret, way)


def widened(scope):
    """What was granted before stays granted: the scopes asked for so far, and these."""
    path = pathlib.Path(os.environ["STUDIO_MCP_SCOPES"])
    before = path.read_text().split() if path.exists() else []
    scopes = before + [one for one in scope.split() if one not in before]
    path.write_text(" ".join(scopes))
    return " ".join(scopes)


def main():
    wanted = json.load(sys.stdin)
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    resource = protected(wanted["url"], wanted["challenge"])
    server = authority(wanted["url"], resource)
    scope = widened(said(wanted["challenge"], "scope") or " ".join(resource.get("scopes_supported") or []))
    form = {"resource": resource.get("resource", wanted["url"])} if resource else {}
    if scope:
        form["scope"] = scope
    grants = server.get("grant_types_supported") or []
    if "offline_access" in (server.get("scopes_supported") or []) and "refresh_token" in grants and scope:
        form["scope"] = f"{scope} offline_access"
    print(way_of(server, context)(server, context, form))


main()

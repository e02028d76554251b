"""Owns the studio in Django, under ASGI and WSGI::

    INSTALLED_APPS += ["wfstudio.django"]                  # settings: adds `manage.py studio`
    WFSTUDIO = "shop.studio.studio"                        # where the studio is

    urlpatterns += wfstudio.django.urls(studio, user=person, gate=lambda request: request.user.is_staff)
"""

import inspect
import re

from .. import _http, asgi, wsgi
from .._errors import Failed


def urls(studio, user=None, gate=None, tenant=None, authorized=None, base_url=None):
    """The studio's paths; the marks are values or functions of Django's request. Requests of other sites are refused by the studio
    itself, so the paths are exempt from Django's token."""
    from django.urls import re_path

    marks = {"user": user, "gate": gate, "tenant": tenant, "authorized": authorized}

    async def view(request, **_):
        return await _view(studio, marks, base_url, request)

    # Set by hand: before version 5.0 Django's decorator hides that a view is a coroutine function.
    view.csrf_exempt = True
    # A path with %0A is one of the studio's too.
    return [re_path(rf"(?s)^{re.escape(prefix.lstrip('/'))}(?:/.*)?$", view) for prefix in studio.prefixes()]


async def _view(studio, marks, base_url, request):
    scope = getattr(request, "scope", None)
    head = asgi.head_of(scope) if scope else wsgi.head_of(request.META)
    for name, mark in marks.items():
        said = await _said(mark, request)
        # A gate that was asked and says nothing lets nobody in who is merely named.
        if said is not None or (name == "gate" and callable(mark)):
            head[name] = said
    if base_url is not None:
        head["base_url"] = base_url
    probe = {"expect": _http.PROBED} if (asgi.has_body(scope) if scope else wsgi.has_body(request.META)) else {}
    told, reader = await _http.aask(studio, {**head, **probe}, lasting=bool(scope))
    if probe and told["status"] == 100:
        reader.close()
        body = await _threaded(request.read)(told["body_limit"] + 1)
        refused = _http.unfit(body, request.META.get("CONTENT_LENGTH"), told["body_limit"])
        if refused:
            told, reader = refused, None
        else:
            told, reader = await _http.aask(studio, head, body, lasting=bool(scope))
    return await _answer(told, reader, bool(scope))


def _threaded(function):
    from asgiref.sync import sync_to_async

    return sync_to_async(function, thread_sensitive=True)


async def _said(mark, request):
    """What a mark says; a plain function may use the database, which Django keeps off the event loop."""
    if not callable(mark):
        return mark
    said = await (mark if inspect.iscoroutinefunction(mark) else _threaded(mark))(request)
    return await said if inspect.isawaitable(said) else said


async def _answer(told, reader, on_loop):
    from django.http import HttpResponse, StreamingHttpResponse

    kinds = [value for name, value in told["headers"] if name.lower() == "content-type"]
    if reader is None or "body" in told:
        response = HttpResponse(_http.whole(told), status=told["status"], content_type=kinds[0] if kinds else "")
    elif on_loop:
        response = StreamingHttpResponse(_apieces(reader, told), status=told["status"], content_type=kinds[0] if kinds else "")
    else:
        response = StreamingHttpResponse(wsgi.Pieces(_moved(reader), told), status=told["status"], content_type=kinds[0] if kinds else "")
    if reader is not None:
        # Django calls `close` when the client has gone, also where nothing of the body was asked for.
        response._resource_closers.append(reader.close)
    if not kinds:
        del response.headers["content-type"]
    for name, value in told["headers"]:
        if name.lower() != "content-type":
            response.headers[name] = value
    return response


async def _apieces(reader, told):
    try:
        async for piece in reader.pieces():
            yield piece
    except Failed as failure:
        if _http.torn(told, failure):
            raise
    finally:
        reader.close()


def _moved(reader):
    """The same stream for the thread that sends it: under WSGI the loop of the view ends with the view."""
    from .._waiter import Reader

    return Reader(reader.stream)

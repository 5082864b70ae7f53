"""Login, logout and the color theme: settings in cookies."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from nodrop.server.pages.context import Site
from nodrop.server.pages.forms import read_field, read_form
from nodrop.server.pages.render import THEME_COOKIE, THEMES, render
from nodrop.server.rest.auth_middleware import make_cookie_name, read_session
from nodrop.server.rest.sessions import SESSION_S

YEAR_S = 365 * 86400


def make_routes(site: Site) -> APIRouter:
    """Return the routes of these pages."""
    router = APIRouter()

    @router.get("/login")
    async def show(request: Request) -> Response:
        target = safe_target(request.query_params.get("next", "/"))
        if site.sessions is None or site.sessions.is_open(read_session(request)):
            return RedirectResponse(target, 303)
        return render(request, "login.html", target=target, rejected=False)

    @router.post("/login")
    async def log_in(request: Request) -> Response:
        fields = await read_form(request)
        target = safe_target(read_field(fields, "next"))
        if site.sessions is None:
            return RedirectResponse(target, 303)
        address = request.client.host if request.client else ""
        session = site.sessions.open(read_field(fields, "token"), address)
        if session is None:
            return render(request, "login.html", 403, target=target, rejected=True)
        response = RedirectResponse(target, 303)
        response.set_cookie(
            make_cookie_name(request),
            session,
            max_age=int(SESSION_S),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return response

    @router.post("/logout")
    async def log_out(request: Request) -> Response:
        await read_form(request)
        if site.sessions:
            site.sessions.close(read_session(request))
        response = RedirectResponse("/login", 303)
        response.delete_cookie(make_cookie_name(request), httponly=True, samesite="strict")
        return response

    @router.post("/theme")
    async def set_theme(request: Request) -> Response:
        fields = await read_form(request)
        response = RedirectResponse(safe_target(read_field(fields, "next")), 303)
        theme = read_field(fields, "theme")
        if theme in THEMES:
            response.set_cookie(THEME_COOKIE, theme, max_age=YEAR_S, httponly=True, samesite="lax")
        else:
            response.delete_cookie(THEME_COOKIE)
        return response

    return router


def safe_target(url: str) -> str:
    """Return a URL if it is a path on this server; otherwise the first page."""
    is_local = url.startswith("/") and not url.startswith(("//", "/\\")) and url.isprintable()
    return url if is_local and "\\" not in url else "/"

"""Routes of the charts of pages."""

from fastapi import APIRouter, Request, Response

from nodrop.charts.theme import Theme
from nodrop.server.pages.context import Site

CACHE = "private, max-age=3600, immutable"


def make_routes(site: Site) -> APIRouter:
    """Return the routes of the renderings."""
    router = APIRouter()

    @router.get("/charts/{name}.svg")
    async def draw_chart(request: Request, name: str) -> Response:
        theme: Theme = "dark" if request.query_params.get("theme") == "dark" else "light"
        svg = await site.charts.render(name, theme)
        headers = {"Cache-Control": "no-store" if site.sessions else CACHE}
        return Response(svg, media_type="image/svg+xml", headers=headers)

    return router

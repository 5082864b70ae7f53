"""The HTML pages of `nodrop serve`.

    request ─► auth_middleware ─► a route (one file per page) ─► render.render ─► templates/, with static/style.css
                                                                               headers.py: security headers

Start in routes.py. Every page works without scripts; those in static/ only keep it up to date. A page is a file with
`routes(site)`, listed in `routes.ROUTER_FACTORIES`; changes are forms, read by `forms.read_form`.
"""

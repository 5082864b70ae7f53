"""The pages that `nodrop serve` shows beside its REST interface.

    request ─► api.guard ─► a route (one file for each page) ─► page.render ─► templates/, with static/style.css
                                                                             headers.py: what browsers may do with it

Start in pages.py. Every page works without scripts; those in static/ only keep it fresh. A page is a file with
`routes(site)`, listed in `pages.ROOMS`; what changes something is a form, read by `forms.read_form`.
"""

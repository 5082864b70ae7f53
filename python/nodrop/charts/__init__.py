"""Charts in Vega-Lite, each defined once and drawn by page, report and file alike. Reads model values only."""

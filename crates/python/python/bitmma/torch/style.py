"""The style of a page."""

STYLE = """
:root{color-scheme:light dark;--back:#fff;--text:#1c2430;--soft:#5b6675;--rule:#dde2e8;--hot:#2f6fd0;
--c0:#0069b4;--c1:#c84e00;--c2:#00805c;--c3:#b0489a;--c4:#8a6a00;--c5:#5a5fd0}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--text:#e6eaf0;--soft:#9aa6b5;--rule:#2c343f;--hot:#4f8ff0;
--c0:#58b0f2;--c1:#ff9450;--c2:#3dcf9f;--c3:#ec96d3;--c4:#e3bd4a;--c5:#a6a9ff}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:16px 16px 48px}
h1{font-size:1.6rem;line-height:1.2;margin:.6em 0 .4em;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:1.8em 0 .5em}
p,li{max-width:75ch;overflow-wrap:anywhere}
ul{padding-left:1.2em}
figure{margin:0 0 1.4em}
figcaption{color:var(--soft);font-size:.9rem;margin-bottom:.3em}
svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--soft)}
svg.narrow{display:none}
@media(max-width:640px){svg.narrow{display:block}svg.wide{display:none}}
.grid{stroke:var(--rule)}
.axis{stroke:var(--soft)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}
.error{--c:var(--soft)}
path.line{fill:none;stroke:var(--c);stroke-width:1.8;stroke-linejoin:round}
path.d1{stroke-dasharray:5 4}path.d2{stroke-dasharray:2 3}
path.error{stroke-width:1.3}
path.wide-line{stroke-width:9}
circle{fill:var(--c)}
rect.bar{fill:var(--c)}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2em 1.2em;padding:0;margin:.4em 0 0;font-size:.9rem}
.legend li{display:flex;align-items:center;gap:.4em}
.legend svg{width:26px;height:10px;flex:none}
.scroll{overflow-x:auto}
.tall{max-height:75vh;overflow-y:auto}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.25em .6em;text-align:right;border-bottom:1px solid var(--rule)}
td{white-space:nowrap}
th:first-child{text-align:left;font-weight:500}
.heat th:first-child{white-space:nowrap}
thead th{color:var(--soft);font-weight:500;position:sticky;top:0;background:var(--back)}
.heat td{background:color-mix(in srgb,var(--hot) var(--heat,0%),var(--back))}
pre{overflow-x:auto;font-size:.82rem;line-height:1.4;padding:.6em;border:1px solid var(--rule);border-radius:6px}
summary{cursor:pointer;color:var(--soft)}
.small{font-size:.85rem;color:var(--soft);margin-top:2.5em}
@media(max-width:640px){.rows,.rows tbody,.rows tr,.rows th,.rows td{display:block;text-align:left;border:0;white-space:normal;padding:.1em 0}
.rows thead{display:none}.rows tr{border-bottom:1px solid var(--rule);padding:.4em 0}.rows td::before{content:attr(data-h) ": ";color:var(--soft)}
.far{display:none}th,td{padding:.25em .4em}.heat th:first-child{white-space:normal;overflow-wrap:anywhere}}
"""

#include "reports/render/page_style.h"

#include <string>

#include "reports/figures/chart.h"

namespace headroom::reports {

namespace {

constexpr std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  @light@
  --paper: #ffffff; --ink: #1b1f24; --muted: #57606a; --rule: #d4d9df; --shade: #f2f4f7; --link: #0a5ca8;
  --bar: #cfe2f3; --stands-out: #fff3cf;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    @dark@
    --paper: #15181b; --ink: #e7eaed; --muted: #a2acb6; --rule: #394048; --shade: #1e2327; --link: #79b8ff;
    --bar: #23445f; --stands-out: #40371b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1rem; max-width: 80rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: break-word;
}
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0.5rem 0; }
h2 { font-size: 1.3rem; margin: 2.4rem 0 0.6rem; padding-bottom: 0.2rem; border-bottom: 1px solid var(--rule); }
h3 { font-size: 1.05rem; margin: 1.6rem 0 0.4rem; }
a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.1rem; margin: 0.6rem 0 0; padding: 0; list-style: none; }
.figures { display: flex; flex-wrap: wrap; gap: 1rem 3rem; margin: 1.2rem 0 0.4rem; padding: 0; list-style: none; }
.figures li { max-width: 22rem; }
.figures strong { display: block; font-size: 2.6rem; line-height: 1.1; font-variant-numeric: tabular-nums; }
.figures .measured strong { color: var(--measured); }
.figures .predicted strong { color: var(--predicted); }
.figures .planned strong { color: var(--planned); }
.figures .untiled strong { color: var(--untiled); }
.figures .limit strong { color: var(--limit); }
.figures .what { font-weight: 600; }
.headline { font-size: 1.2rem; margin: 0.8rem 0 0.2rem; }
summary h2 { display: inline; border: 0; padding: 0; font-size: 1.15rem; color: var(--ink); }
section.folded { border-top: 1px solid var(--rule); margin-top: 0.6rem; padding-top: 0.4rem; }
.by, footer { color: var(--muted); font-size: 0.875rem; }
.words { padding-left: 1.2rem; }
.words li { margin: 0.25rem 0; }
figure, .table { margin: 1rem 0 1.6rem; }
figcaption, caption { font-weight: 600; }
figcaption { margin-bottom: 0.3rem; }
/* A shadow where there is more to the side: paper moves with what is scrolled, the shadow does not. */
.scroll {
  overflow-x: auto; max-width: 100%;
  background: linear-gradient(to right, var(--paper) 40%, transparent) 0 / 2rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) 100% / 2rem 100% no-repeat local,
    linear-gradient(to right, var(--rule), transparent) 0 / 0.8rem 100% no-repeat scroll,
    linear-gradient(to left, var(--rule), transparent) 100% / 0.8rem 100% no-repeat scroll;
}
/* A scrollbar that stays visible; browsers hide their own until something is scrolled. */
.scroll::-webkit-scrollbar { height: 0.7rem; }
.scroll::-webkit-scrollbar-track { background: var(--shade); }
.scroll::-webkit-scrollbar-thumb { background: var(--muted); border-radius: 0.35rem; border: 2px solid var(--shade); }
@supports not selector(::-webkit-scrollbar) { .scroll { scrollbar-color: var(--muted) var(--shade); } }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
svg { display: block; width: 100%; min-width: 45rem; height: auto; font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 0.3rem 0; font-size: 1rem; }
.continued caption { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; }
th, td { padding: 0.22rem 0.5rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--rule); }
thead th { vertical-align: bottom; font-weight: 600; border-bottom: 2px solid var(--rule); }
thead th.group { text-align: center; border-bottom: 1px solid var(--rule); }
tbody th { font-weight: 400; }
th.number, td.number { text-align: right; }
td.number { white-space: nowrap; }
th.text, td.text { min-width: 6rem; max-width: 36rem; overflow-wrap: break-word; }
td.bar {
  background: linear-gradient(var(--bar), var(--bar)) no-repeat 0.2rem 50% / calc((100% - 0.6rem) * var(--part)) 72%;
}
tr.stands-out > * { font-weight: 700; }
tr.stands-out > :first-child { box-shadow: inset 4px 0 0 var(--limit); }
tr.stands-out > * { background-color: var(--stands-out); }
th[tabindex] { cursor: pointer; }
th[tabindex]:focus-visible { outline: 2px solid var(--link); }
th[aria-sort=ascending]::after { content: " \25B2"; }
th[aria-sort=descending]::after { content: " \25BC"; }
details { margin: 0.4rem 0; }
summary { cursor: pointer; color: var(--link); font-size: 0.875rem; }
dl { font-size: 0.875rem; margin: 0.4rem 0; }
dt { font-weight: 600; }
dd { margin: 0 0 0.3rem 1rem; }
.label, .tick, .axis-title, .span-name { fill: var(--ink); }
.tick, .axis-title { fill: var(--muted); }
.span-name { font-size: 11px; fill: var(--muted); }
.label { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; stroke-linejoin: round; }
.guide-label, .note { font-weight: 600; }
.guide-label { fill: var(--limit); }
.grid { stroke: var(--rule); stroke-width: 0.7; }
.axis { stroke: var(--muted); stroke-width: 1.2; }
.span { fill: transparent; }
.span.odd { fill: var(--shade); }
.area { stroke: var(--paper); stroke-width: 0.4; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.guide { stroke-width: 1.6; stroke-dasharray: 9 4; }
.mark { stroke: var(--paper); stroke-width: 1; }
.note-point { fill: none; stroke: var(--ink); stroke-width: 2; }
@roles@
.line-driver { stroke-dasharray: 2 3; }
.line-predicted { stroke-dasharray: 6 3; }
.line-untiled { stroke-dasharray: 3 3; }
.line-other { stroke-dasharray: 8 3 2 3; }
@media print {
  :root {
    color-scheme: light;
    --ink: #000000; --muted: #444b53; --rule: #c4cad1; --link: #000000;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  @page { margin: 14mm; }
  @page wide { size: landscape; margin: 10mm; }
  .wide { page: wide; }
  html { font-size: 10pt; }
  body { max-width: none; padding: 0; font-size: 1rem; line-height: 1.4; }
  h2 { margin-top: 1.2rem; }
  .figures { flex-wrap: nowrap; gap: 0 8mm; }
  .figures li { flex: 1 1 0; max-width: none; }
  .figures strong { font-size: 22pt; white-space: nowrap; }
  figure, .table { margin: 0.6rem 0 1rem; }
  nav, .table summary { display: none; }
  section.folded summary { list-style: none; break-after: avoid; }
  section.folded summary h2 { display: block; }
  section.folded.first { break-before: page; }
  details::details-content { content-visibility: visible; block-size: auto; }
  .scroll { overflow: visible; background: none; }
  svg { min-width: 0; }
  table { width: auto; max-width: 100%; font-size: 7pt; }
  .wide table { font-size: 6.5pt; }
  th, td { padding: 0.1rem 0.2rem; }
  .wide th, .wide td { padding: 0.1rem 0.15rem; }
  th.text, td.text { min-width: 0; max-width: none; }
  dl { font-size: 7.5pt; }
  dt, dd { display: inline; margin: 0; }
  dt::after { content: ": "; }
  dd::after { content: "  "; white-space: pre; }
  h2, h3, figcaption, caption, .words, .headline { break-after: avoid; }
  figure, tr, li, dl { break-inside: avoid; }
  dl { break-before: avoid; }
  thead { display: table-header-group; }
}
)css";

std::string with_colours(std::string style) {
  const auto put = [&](const std::string& mark, const char* RoleColours::*theme) {
    std::string colours;
    for (const RoleColours& role : kRoleColours)
      colours += (colours.empty() ? "--" : " --") + std::string(role.name) + ": " + role.*theme + ";";
    style.replace(style.find(mark), mark.size(), colours);
  };
  put("@light@", &RoleColours::light);
  put("@dark@", &RoleColours::dark);
  std::string classes;
  for (const RoleColours& role : kRoleColours) {
    const std::string name = role.name, colour = " var(--" + name + "); }\n";
    classes += ".fill-" + name + " { fill:" + colour + ".line-" + name + " { stroke:" + colour;
  }
  style.replace(style.find("@roles@"), 7, classes);
  return style;
}

}  // namespace

std::string_view page_style() {
  static const std::string style = with_colours(std::string(kStyle));
  return style;
}

}  // namespace headroom::reports

/* SPDX-License-Identifier: MIT */
/* The page's style sheet: a paper's look, one column on a phone, two figures side by side on a desk, light and
 * dark by the reader's preference. Series colours differ in hue and in lightness, so that they survive colour
 * blindness and print. */
#include "report/page.h"

static const char *const style[] = {
    ":root{color-scheme:light dark;--page:#fffefb;--ink:#1c1b19;--soft:#66625a;--rule:#cfcabf;--strong:#1c1b19;"
    "--panel:#f6f3ec;--axis:#8d887d;--grid:#e6e1d6;--text:#4c4942;--accent:#2a5db0;--note:#fbf1d8;"
    "--s1:#2f66c4;--s2:#c8412f;--s3:#1f8a58;--s4:#b77900;--s5:#7a45b8;--s6:#0b8497;--s7:#b8418f;--s8:#6c6c6c}\n",
    "@media (prefers-color-scheme:dark){:root{--page:#16171a;--ink:#e9e6df;--soft:#a39f96;--rule:#3d3e43;"
    "--strong:#d8d4ca;--panel:#1f2024;--axis:#77746d;--grid:#2c2d32;--text:#bdb9af;--accent:#8ab4ff;--note:#2f2a1a;"
    "--s1:#7fa9ff;--s2:#ff8573;--s3:#5ecb97;--s4:#efb84a;--s5:#be98ff;--s6:#4bd0e2;--s7:#f48ccb;--s8:#b0b0b0}}\n",
    "*{box-sizing:border-box}html{-webkit-text-size-adjust:100%}\n"
    "body{margin:0;background:var(--page);color:var(--ink);font:17px/1.55 Charter,'Bitstream Charter','Iowan Old "
    "Style',"
    "'Source Serif 4',Georgia,serif;font-variant-numeric:lining-nums}\n"
    "main{max-width:66rem;margin:0 auto;padding:2.5rem 1.25rem 4rem}\n"
    "h1{font-size:2.1rem;line-height:1.15;font-weight:600;letter-spacing:-.01em;margin:0 0 .5rem;text-wrap:balance}\n"
    "h2{font-size:1.45rem;line-height:1.2;font-weight:600;margin:3.25rem 0 .3rem;padding-top:1.1rem;"
    "border-top:2px solid var(--strong)}\n"
    "h2 .tag{font:500 .78rem/1 system-ui,sans-serif;color:var(--soft);border:1px solid var(--rule);border-radius:1rem;"
    "padding:.22rem .6rem;margin-left:.35rem;vertical-align:.18em;white-space:nowrap}\n"
    "h3{font-size:1.05rem;font-weight:600;margin:2rem 0 .4rem}\n"
    "p{margin:.5rem 0 .8rem;max-width:46rem}.lede{font-size:1.1rem;color:var(--soft);margin-bottom:1.2rem}\n"
    "a{color:var(--accent)}nav{font:500 .9rem/1.9 system-ui,sans-serif;display:flex;flex-wrap:wrap}nav "
    "a{margin-right:1.1rem;white-space:nowrap}\n",
    "code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:.84em}\n"
    "pre{background:var(--panel);border-radius:6px;padding:.75rem 1rem;overflow-x:auto;margin:.5rem 0;max-width:100%}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1.1rem;margin:.6rem 0 1rem;font-size:.94rem}\n"
    "dt{color:var(--soft)}dd{margin:0}\n"
    ".finding{border-left:3px solid var(--accent);background:var(--panel);padding:.7rem 1rem;margin:1rem 0 1.2rem;"
    "border-radius:0 6px 6px 0;max-width:50rem}.finding p{margin:.2rem 0;"
    "max-width:none}.finding .small{font-size:.86rem;color:var(--soft);margin-top:.45rem}\n"
    ".pair{display:inline-block;font:.86em ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace}\n"
    ".warn{border-left-color:var(--s4);background:var(--note)}.warn ul{margin:.3rem 0;padding-left:1.2rem}\n",
    "figure{margin:1.6rem 0}figcaption,caption{font-size:.92rem;line-height:1.45;color:var(--soft);text-align:left}\n"
    "figcaption{margin-top:.6rem;max-width:50rem}figcaption b,caption b{color:var(--ink);font-weight:600}\n"
    ".grid{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1rem 1.6rem}\n"
    ".grid.three{grid-template-columns:repeat(3,minmax(0,1fr))}\n"
    "h4.scheme{font-size:.95rem;font-weight:600;margin:1.6rem 0 .2rem}\n"
    ".cell h4{font:500 .9rem/1.35 system-ui,sans-serif;margin:0;overflow-wrap:anywhere}\n"
    ".cell p{font-size:.86rem;line-height:1.4;color:var(--soft);margin:.1rem 0 0}\n"
    "figure svg{display:block;width:100%;height:auto;color:var(--text);"
    "font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}svg.shapes{position:absolute}"
    "figure .legend svg{display:inline-block;width:2.25rem;height:.5rem;margin-right:.45rem;vertical-align:.1em}\n",
    ".legend{display:flex;flex-wrap:wrap;gap:.3rem 1.3rem;font:500 .88rem/1.4 system-ui,sans-serif;margin:.6rem 0;"
    "padding:0;list-style:none}.legend i{display:inline-block;width:1.5rem;height:0;border-top:3px solid;"
    "border-radius:2px;margin-right:.45rem;vertical-align:.25em}\n"
    ".wide{overflow-x:auto;-webkit-overflow-scrolling:touch;margin:.5rem 0 0}\n"
    "table{border-collapse:collapse;font-size:.93rem;line-height:1.35;font-variant-numeric:tabular-nums lining-nums;"
    "border-top:1.6px solid var(--strong);border-bottom:1.6px solid var(--strong)}\n"
    "th,td{padding:.36rem .8rem;text-align:right;white-space:nowrap;vertical-align:baseline}\n"
    "th:first-child,td:first-child{text-align:left;padding-left:.2rem;position:sticky;left:0;background:var(--page)}\n"
    "thead th{font-weight:600;border-bottom:1px solid var(--strong);vertical-align:bottom}\n"
    "thead small{display:block;font-weight:400;color:var(--soft)}tbody th{font-weight:400}\n"
    "td small{color:var(--soft);font-size:.86em}td.best{font-weight:700}td.pub{color:var(--soft)}\n"
    "th.left,td.left{text-align:left}td.long{white-space:normal;min-width:14rem}\n",
    ".bars{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:1.2rem 2.2rem}\n"
    ".bars h4{font:600 .88rem/1.3 system-ui,sans-serif;margin:0 0 .35rem}.bars div.bar{display:grid;"
    "grid-template-columns:minmax(0,11rem) minmax(0,1fr) 7.2rem;gap:.6rem;align-items:center;"
    "font:400 .84rem/1.75 system-ui,sans-serif;font-variant-numeric:tabular-nums}\n"
    ".bar span:first-child{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.bar span:last-child{"
    "text-align:right;white-space:nowrap}.bar i{display:block;height:.72rem;border-radius:0 3px 3px 0;min-width:2px}\n"
    "details{margin:1.2rem 0}summary{cursor:pointer;font:500 .92rem/1.5 system-ui,sans-serif}\n"
    "footer{margin-top:3.5rem;border-top:2px solid var(--strong);padding-top:1rem;font-size:.95rem}\n",
    "@media (max-width:44rem){body{font-size:16px}main{padding:1.4rem 1rem 3rem}h1{font-size:1.65rem}"
    ".grid,.grid.three,.bars{grid-template-columns:minmax(0,1fr)}th,td{padding:.36rem .55rem}"
    "dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.35rem}"
    ".pair{display:inline}th:first-child,td:first-child{white-space:normal;min-width:8rem;max-width:9.5rem;overflow-"
    "wrap:anywhere}"
    "table{font-size:.88rem}.bars div.bar{grid-template-columns:minmax(0,8rem) minmax(0,1fr) 7.2rem}}\n"
    "@media (min-width:44rem) and (max-width:58rem){.grid.three{grid-template-columns:repeat(2,minmax(0,1fr))}}\n"
    "@media print{body{font-size:11pt}main{max-width:none;padding:0}figure,.bars>div{break-inside:avoid}}\n",
};

void lab_page_style(lab_page *page) {
    for (size_t i = 0; i < sizeof style / sizeof *style; i++)
        fputs(style[i], page->file);
}

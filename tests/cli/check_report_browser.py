#!/usr/bin/env python3
"""check_report_browser.py TUNE ROOT: pages of `tune report` in Chromium: wide, narrow, light, dark, and printed.

With TT_WORLD=1 only. Without Chromium, and where apt-get cannot install it, the test is skipped (exit code 77).
With REPORT_PICTURES=FOLDER it keeps what it saw.
"""
import base64
import os
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

import browser

SKIPPED = 77
tune, root = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
BACKS = {"light": 240, "dark": 30}  # the page is lighter, or darker

# Everything that reaches over the side, has too little contrast for its size, or has no name.
LOOK = """(() => {
  const wrong = [], width = document.documentElement.clientWidth;
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = rgb(c).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
                       return .2126 * r + .7152 * g + .0722 * b; };
  const back = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
                      if (rgb(c)[3] !== 0) return c; } return 'rgb(255,255,255)'; };
  if (document.documentElement.scrollWidth > width) wrong.push('the page is ' + document.documentElement.scrollWidth + ' wide');
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('.scroll') && !e.matches('.scroll')) continue;
    const box = e.getBoundingClientRect();
    if (box.width && (box.right > width + 1 || box.left < -1)) wrong.push(e.tagName + ' ' + e.textContent.slice(0, 40) + ' reaches over the side');
  }
  for (const e of document.querySelectorAll('h1, h2, h3, p, dt, dd, td, th, a, code, li, figcaption b, figcaption span, text')) {
    if (!e.textContent.trim() || e.classList.contains('on')) continue;
    const s = getComputedStyle(e), c = s[e.tagName === 'text' ? 'fill' : 'color'];
    const a = light(c), b = light(back(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5 && !e.classList.contains('ink')) wrong.push(e.tagName + '.' + e.getAttribute('class') + ' ' + e.textContent.slice(0, 30) + ' has contrast ' + ratio.toFixed(2));
  }
  for (const figure of document.querySelectorAll('figure')) {
    const svg = figure.querySelector('svg'), frame = svg.getBoundingClientRect(), seen = [];
    for (const t of svg.querySelectorAll('text')) {
      const box = t.getBoundingClientRect();
      if (box.left < frame.left - 2 || box.right > frame.right + 2) wrong.push(t.textContent + ' leaves its figure, ' + svg.getAttribute('aria-label').slice(0, 50));
      for (const other of seen)
        if (box.left < other.right - 1 && other.left < box.right - 1 && box.top < other.bottom - 3 && other.top < box.bottom - 3)
          wrong.push(t.textContent + ' covers ' + other.text + ', ' + svg.getAttribute('aria-label').slice(0, 50));
      seen.push({left: box.left, right: box.right, top: box.top, bottom: box.bottom, text: t.textContent});
    }
  }
  return wrong.slice(0, 20);
})()"""


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def find_browser():
    if os.environ.get("TT_WORLD") != "1":
        skip("only with TT_WORLD=1")
    if not browser.find() and os.geteuid() == 0:
        install = ["apt-get", "install", "-y", "--no-install-recommends", "chromium", "fonts-dejavu-core"]
        try:
            for command in (["apt-get", "update"], install):
                subprocess.run(command, check=True, capture_output=True, timeout=400,
                               env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        except (OSError, subprocess.SubprocessError):
            pass
    return browser.find() or skip("there is no Chromium here: apt-get install chromium")


def look(b, page, pictures):
    wrong = []
    for width in 380, 1600:
        for scheme, limit in BACKS.items():
            where = f"{page.name}, {width}, {scheme}: "
            wrong += [where + said for said in b.open(page.as_uri(), width, scheme)]
            wrong += [where + said for said in b.evaluate(LOOK)]
            back = b.evaluate("getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]")
            if (back < limit) != (scheme == "dark"):
                wrong.append(f"{where}the page has a back of {back}")
            if pictures:
                shot = b.call("Page.captureScreenshot", format="png")["data"]
                (pathlib.Path(pictures) / f"{page.stem}-{width}-{scheme}.png").write_bytes(base64.b64decode(shot))
    nodes = b.call("Accessibility.getFullAXTree")["nodes"]
    images = [n for n in nodes if n.get("role", {}).get("value") in ("image", "img") and not n.get("ignored")]
    wrong += [f"{page.name}: an image has no name" for n in images if not n.get("name", {}).get("value")]
    if len(images) < 5:
        wrong.append(f"{page.name}: only {len(images)} images are to be read")
    paper = base64.b64decode(b.call("Page.printToPDF", printBackground=True)["data"])
    if not paper.startswith(b"%PDF") or len(paper) < 20000:
        wrong.append(f"{page.name}: printed as {len(paper)} bytes")
    return wrong


def main():
    path, pictures = find_browser(), os.environ.get("REPORT_PICTURES")
    recordings = root / "recordings"
    pages = {"one": ["h200.json"], "several": ["h200.json", "h200-2bytes.json"], "narrow": ["h200-narrow.json"]}
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        b = browser.Browser(path, str(folder / "profile"))
        for stem, files in pages.items():
            page = folder / f"{stem}.html"
            subprocess.run([tune, "report", *(str(recordings / f) for f in files), "--output", str(page)], check=True,
                           capture_output=True)
            wrong += look(b, page, pictures)
        b.close()
    if wrong:
        sys.exit("\n".join(wrong))
    print("ok")


if __name__ == "__main__":
    main()

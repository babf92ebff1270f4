//! `bitmma report` and `analyze`: the folder whole or not at all, taken up again where it was left, the same bit
//! for bit; the page in a real browser.
//!
//! The browser is `BITMMA_BROWSER`, or `chromium`, `chromium-browser` or `google-chrome` on the path; where there
//! is none the test says so and opens nothing. `BITMMA_REPORT` names a folder that report and screenshots are
//! copied to, for whoever wants to look at them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

fn bitmma(arguments: &[&str]) -> Output {
    Command::new(assert_cmd::cargo::cargo_bin!("bitmma")).args(arguments).output().unwrap()
}

/// One quick report for all tests.
static REPORT: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let report = folder.path().join("report");
    let made = bitmma(&["report", "--quick", "-o", report.to_str().unwrap()]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(!folder.path().join("report.partial").exists());
    (folder, report)
});

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn the_folder_holds_everything_that_the_page_shows() {
    let report = &REPORT.1;
    let numbers: serde_json::Value = serde_json::from_str(&read(&report.join("report.json"))).unwrap();
    let page = read(&report.join("index.html"));
    let sections = numbers["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 8);
    let (mut tables, mut figures) = (0, 0);
    for section in sections {
        assert!(page.contains(&format!("<section id=\"{}\">", section["name"].as_str().unwrap())));
        for table in section["tables"].as_array().unwrap() {
            let name = table["name"].as_str().unwrap();
            let csv = read(&report.join(format!("tables/{name}.csv")));
            let rows = table["rows"].as_array().unwrap();
            assert!(!rows.is_empty(), "{name} is empty");
            assert!(csv.lines().count() > rows.len(), "{name}");
            assert!(page.contains(&format!("id=\"table-{name}\"")), "{name}");
            tables += 1;
        }
        for figure in section["figures"].as_array().unwrap() {
            let name = figure["name"].as_str().unwrap();
            let svg = read(&report.join(format!("figures/{name}.svg")));
            assert!(page.contains(svg.trim_end()), "{name}");
            assert!(!svg.contains("NaN"), "{name}");
            let png = std::fs::read(report.join(format!("figures/{name}.png"))).unwrap();
            assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{name}: {} bytes", png.len());
            let pdf = std::fs::read(report.join(format!("figures/{name}.pdf"))).unwrap();
            assert!(pdf.starts_with(b"%PDF-1.4") && pdf.ends_with(b"%%EOF\n"), "{name}");
            labels_cover_nothing(name, &svg);
            curves_have_colors_of_their_own(name, &svg, &page);
            figures += 1;
        }
    }
    assert_eq!(names(&report.join("tables")).len(), tables);
    assert_eq!(names(&report.join("figures")).len(), 4 * figures);
    the_bounds_are_the_papers(sections);
    // every link leads into the page or to a file beside it
    for link in page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
        let here = link.strip_prefix('#').map(|anchor| page.contains(&format!("id=\"{anchor}\"")));
        assert!(link == "data:," || here.unwrap_or_else(|| report.join(link).is_file()), "{link}");
    }
    for outside in ["http://", "https://", "src=", "@import"] {
        let shown = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!shown.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<script").count(), 1, "the menu of formats");
    it_opens_with_three_findings(&page, sections);
    no_bound_falls_with_k(sections);
}

/// Three sentences and the picture of FP8 come first, with the numbers of the tables.
fn it_opens_with_three_findings(page: &str, sections: &[serde_json::Value]) {
    let found: Vec<&str> =
        sections.iter().filter_map(|section| section["finding"]["headline"].as_str()).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    let opening = page.split("<section").next().unwrap();
    assert!(opening.contains("id=\"figure-fp8-along-k\""), "{opening}");
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().unwrap());
    let fp8 = tables.clone().find(|table| table["name"] == "fp8-along-k").unwrap();
    let hopper =
        fp8["rows"].as_array().unwrap().iter().filter(|row| row[0].as_str().unwrap().starts_with("hopper"));
    let last = hopper.clone().rfind(|row| row[1].is_null()).unwrap();
    let said =
        found.iter().find_map(|words| words.split_once("wrong by up to ")?.1.split_once(" %")).unwrap().0;
    let measured = 100.0 * last[3].as_f64().unwrap();
    assert!((said.parse::<f64>().unwrap() / measured - 1.0).abs() < 0.005, "{said}: {measured}");
    // without promotion the error grows along K, with it it stays
    let errors = |promoted: bool| -> Vec<f64> {
        hopper
            .clone()
            .filter(|row| row[1].is_null() != promoted)
            .map(|row| row[3].as_f64().unwrap())
            .collect()
    };
    let (without, with) = (errors(false), errors(true));
    assert!(without.is_sorted() && without.last() > with.last(), "{without:?} {with:?}");
}

/// Legends name chips, not parameters, and what adds up never becomes less.
fn no_bound_falls_with_k(sections: &[serde_json::Value]) {
    let figures = sections.iter().flat_map(|section| section["figures"].as_array().unwrap());
    let mut bounds = 0;
    for series in figures.flat_map(|figure| figure["series"].as_array().unwrap()) {
        let name = series["name"].as_str().unwrap();
        let parameters = [" = ", "FDPA", "AddMul", "FMA", "ρ"];
        assert!(!parameters.iter().any(|word| name.contains(word)), "{name} is no name of a chip");
        if series["mark"] == "dashes" {
            let points = series["points"].as_array().unwrap();
            let bound: Vec<f64> = points.iter().map(|point| point[1].as_f64().unwrap()).collect();
            assert!(bound.len() >= 4 && bound.is_sorted(), "{name}: {bound:?}");
            bounds += 1;
        }
    }
    assert_eq!(bounds, 10);
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().unwrap());
    let table = tables.clone().find(|table| table["name"] == "gemm-bounds").unwrap();
    let rows = table["rows"].as_array().unwrap();
    for pair in rows.windows(2).filter(|pair| pair[0][0] == pair[1][0]) {
        for column in [3, 4] {
            assert!(pair[0][column].as_f64() <= pair[1][column].as_f64(), "{} {}", pair[0], pair[1]);
        }
    }
    assert!(rows.iter().all(|row| row[5].as_f64().unwrap() <= 1.0));
}

/// The gallery's pictures are those of a quick report; `BITMMA_RENEW=1` writes them.
#[test]
fn the_gallery_is_current() {
    let report = &REPORT.1;
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = read(&docs.join("gallery.md"));
    let mut pictures: Vec<&str> =
        page.split("](gallery/").skip(1).map(|rest| rest.split(')').next().unwrap()).collect();
    for picture in &pictures {
        let drawn = std::fs::read(report.join("figures").join(picture)).unwrap();
        let kept = docs.join("gallery").join(picture);
        if std::env::var_os("BITMMA_RENEW").is_some() {
            std::fs::write(&kept, &drawn).unwrap();
        }
        assert!(
            std::fs::read(&kept).is_ok_and(|kept| kept == drawn),
            "docs/gallery/{picture} is stale; renew it with\n    BITMMA_RENEW=1 cargo test --workspace --test cli report::the_gallery"
        );
    }
    pictures.sort_unstable();
    assert_eq!(names(&docs.join("gallery")), pictures);
    // the commands of the page are those that draw them
    let numbers: serde_json::Value = serde_json::from_str(&read(&report.join("report.json"))).unwrap();
    let commands =
        page.lines().filter_map(|line| line.strip_prefix("bitmma analyze ")?.split_once(" --quick -o "));
    let mut drawn: Vec<String> = Vec::new();
    for (part, _) in commands {
        let section = numbers["sections"].as_array().unwrap().iter().find(|section| section["name"] == part);
        let figures = section.unwrap()["figures"].as_array().unwrap();
        drawn.extend(figures.iter().map(|figure| format!("{}.png", figure["name"].as_str().unwrap())));
    }
    assert!(pictures.iter().all(|picture| drawn.contains(&(*picture).to_owned())), "{pictures:?} {drawn:?}");
}

/// A finished section is taken as it is by the next run, and everything comes out the same bit for bit.
#[test]
fn an_interrupted_report_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("r");
    let out = path.to_str().unwrap();
    let report = |only: &str| {
        let made = bitmma(&["report", "--quick", "--only", only, "-o", out]);
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    // as if it had been cut short after its first section
    report("risks");
    std::fs::rename(&path, folder.path().join("r.partial")).unwrap();
    let kept = folder.path().join("r.partial/sections/risks.json");
    let marked = read(&kept).replace("Risky designs", "Risky designs, kept");
    std::fs::write(&kept, marked).unwrap();
    report("risks,bias");
    assert!(read(&path.join("index.html")).contains("Risky designs, kept"), "the section was made again");
    assert!(!folder.path().join("r.partial").exists());

    // other options: made anew, and equal to the section of another run
    let again = bitmma(&["report", "--quick", "--only", "bias", "--seed", "2", "-o", out]);
    assert!(again.status.success());
    assert!(!read(&path.join("index.html")).contains("kept"));

    // what is none of its files is not lost
    std::fs::write(path.join("mine.txt"), "mine").unwrap();
    let refused = bitmma(&["report", "--quick", "--only", "bias", "-o", out]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("mine.txt in it is no part of a report"));
    assert_eq!(read(&path.join("mine.txt")), "mine");
    let once = |seed: &str| bitmma(&["analyze", "bias", "--quick", "--json", "--seed", seed]).stdout;
    assert_eq!(once("3"), once("3"));
    assert_ne!(once("3"), once("4"));
}

#[test]
fn what_is_no_report_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.txt"), "mine").unwrap();
    let refused = bitmma(&["report", "--quick", "--only", "risks", "-o", folder.path().to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("is not a report"));
    assert_eq!(read(&folder.path().join("mine.txt")), "mine");
    let refused = bitmma(&["analyze", "workarounds", "--a", "a.npy", "--b", "b.npy"]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn numbers_that_make_no_matrix_are_refused() {
    let instruction = ["hopper", "wgmma.m64n8k16.f32.f16.f16"];
    for (option, value, message) in [
        ("--scale", "nan", "scale is NaN; a number above 0, at most 1e300, is expected"),
        ("--scale", "inf", "scale is inf; a number above 0"),
        ("--scale", "1e301", "at most 1e300"),
        ("--scale", "0", "scale is 0; a number above 0"),
        ("--scale", "-1", "scale is -1; a number above 0"),
        ("--k", "0", "'0' for '--k <K>': must be an integer from 1 to 1048576"),
        ("--k", "65536000000", "'65536000000' for '--k <K>': must be an integer from 1 to 1048576"),
    ] {
        for given in [&[][..], &instruction] {
            let refused = bitmma(&[&["analyze", "bounds", option, value], given].concat());
            let message_given = String::from_utf8_lossy(&refused.stderr).into_owned();
            assert_eq!(refused.status.code(), Some(2), "{option} {value}: {message_given}");
            assert!(message_given.contains(message), "{option} {value}: {message_given}");
        }
    }
}

/// Random elements of FP4 with scale factors; factors that are missing are asked for.
#[test]
fn data_with_scale_factors_is_analysed() {
    let name = "mma.m16n8k64.kind::mxf4nvf4.block16.f32.e2m1.e2m1.f32.ue4m3";
    let json =
        bitmma(&["analyze", "workarounds", "rtx-blackwell", name, "--k", "256", "--quick", "--json"]).stdout;
    let section: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let table = &section["tables"][0];
    assert!(table["title"].as_str().unwrap().contains("scale factors"), "{}", table["title"]);
    let hows: Vec<&str> =
        table["rows"].as_array().unwrap().iter().map(|row| row[0].as_str().unwrap()).collect();
    assert!(hows.contains(&"as it is") && hows.contains(&"FP16 instruction on the same data"), "{hows:?}");
    let refused = bitmma(&["analyze", "workarounds", "rtx-blackwell", name, "-a", "a.npy", "-b", "b.npy"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--scale-a is missing"));
}

/// What each instruction lost on Equation 1 explains the paper's prose: on Ampere -0.25 and -0.125 are cut.
#[test]
fn compare_says_why() {
    let text = bitmma(&["compare", "ampere", "hopper", "--why"]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains(
            "step 1, fused summation: a2*b2 = -0.25 becomes 0, losing -0.25 (nothing below 2^-1 is kept)"
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "step 1, fused summation: a3*b3 = -0.125 becomes 0, losing -0.125 (nothing below 2^-2 is kept)"
        ),
        "{text}"
    );
    let json = bitmma(&["compare", "cdna3", "--why", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let fp8 = json["answers"].as_array().unwrap().iter().find(|answer| answer["value"] == -1.0).unwrap();
    assert!(
        fp8["losses"].as_array().unwrap().iter().any(|loss| loss["term"] == "T_odd" && loss["kept"] == -1.0),
        "{fp8}"
    );
}

/// Every cell of the paper's table of bounds is ours, or the row says why it is not; the FP16 flush of CDNA2 has its row.
fn the_bounds_are_the_papers(sections: &[serde_json::Value]) {
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().unwrap());
    let of = |name: &str| {
        let table = tables.clone().find(|table| table["name"] == name).unwrap();
        table["rows"].as_array().unwrap().clone()
    };
    let sources = of("error-sources");
    assert_eq!(sources.len(), 6);
    for row in &sources {
        assert_eq!(row[4] == "the same", row[2] == row[3], "{row}");
        assert!(row[4].as_str().unwrap().len() > 3, "{row}");
    }
    assert_eq!(sources[0][3], "2^-126 (BF16) or 2^-14 (FP16)");
    let flush = of("flush");
    let fp16 = flush.iter().find(|row| row[1] == "FP16" && row[3] == "input FTZ").unwrap();
    assert_eq!((fp16[2].as_str(), fp16[4].as_str()), (Some("CDNA2"), Some("2^-14 (FP16)")));
    assert!(fp16[5].as_f64().unwrap() > 0.5 && fp16[6].as_str().unwrap().contains("a0 = "), "{fp16}");
}

/// An attribute of an element of an SVG.
fn attribute<'t>(element: &'t str, name: &str) -> Option<&'t str> {
    element.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next())
}

/// In the light and in the dark: the page's style has another color for some, and no two may become alike.
fn curves_have_colors_of_their_own(name: &str, svg: &str, page: &str) {
    let curves = svg
        .split('<')
        .filter(|element| element.starts_with("path ") && attribute(element, "stroke-width") == Some("2"));
    let mut colors: Vec<&str> = curves.filter_map(|curve| attribute(curve, "stroke")).collect();
    colors.sort_unstable();
    colors.dedup();
    let in_the_dark = |color: &str| {
        let rule = page.split_once(&format!("svg [stroke=\"{color}\"]{{stroke:light-dark("));
        rule.map_or(color, |(_, rest)| rest.split([',', ')']).nth(1).unwrap()).to_owned()
    };
    // short ones have three digits
    let whole = |color: String| match color.len() {
        4 => color.chars().flat_map(|c| if c == '#' { vec![c] } else { vec![c, c] }).collect(),
        _ => color,
    };
    let part = |color: &str, at: usize| i32::from_str_radix(&color[at..at + 2], 16).unwrap();
    let light: Vec<String> = colors.iter().map(|&color| color.to_owned()).collect();
    let dark = colors.iter().map(|&color| whole(in_the_dark(color))).collect();
    for of in [light, dark] {
        for (index, one) in of.iter().enumerate() {
            for other in &of[..index] {
                let apart: i32 =
                    [1, 3, 5].into_iter().map(|at| (part(one, at) - part(other, at)).pow(2)).sum();
                assert!(apart > 60 * 60, "{name}: {one} and {other} look alike");
            }
        }
    }
}

/// Read from the picture itself: no label of a point, and no entry of a legend, covers another text or a curve.
fn labels_cover_nothing(name: &str, svg: &str) {
    let number = |element: &str, key: &str| attribute(element, key).and_then(|text| text.parse::<f64>().ok());
    let mut texts: Vec<([f64; 4], bool, &str)> = vec![];
    for element in svg.split('<').filter(|element| element.starts_with("text ")) {
        let (Some(x), Some(y)) = (number(element, "x"), number(element, "y")) else { continue };
        let (size, length) = (number(element, "font-size"), number(element, "textLength").unwrap());
        let left = match attribute(element, "text-anchor") {
            Some("middle") => x - length / 2.0,
            Some(_) => x - length,
            None => x,
        };
        let high = size.unwrap_or(13.0);
        // capitals reach 0.7 of the size above the line
        let area = [left, y - 0.7 * high, left + length, y];
        texts.push((area, size.is_some(), element.split_once('>').unwrap().1));
        assert!(area[0] >= 0.0 && area[2] <= 520.0, "{name}: {element} leaves the paper");
    }
    for (index, (one, _, text)) in texts.iter().enumerate() {
        for (other, _, with) in &texts[..index] {
            let apart = one[0] >= other[2] || other[0] >= one[2] || one[1] >= other[3] || other[1] >= one[3];
            assert!(apart, "{name}: {text} covers {with}");
        }
    }
    for element in svg.split('<').filter(|element| {
        element.starts_with("path ") && [Some("2"), Some("1.2")].contains(&attribute(element, "stroke-width"))
    }) {
        let way = attribute(element, "d").unwrap().trim_start_matches('M');
        let points: Vec<(f64, f64)> = way
            .split('L')
            .map(|point| {
                let (x, y) = point.split_once(' ').unwrap();
                (x.parse().unwrap(), y.trim_end_matches('Z').parse().unwrap())
            })
            .collect();
        for pair in points.windows(2) {
            for step in 0..=200 {
                let part = f64::from(step) / 200.0;
                let x = pair[0].0 + part * (pair[1].0 - pair[0].0);
                let y = pair[0].1 + part * (pair[1].1 - pair[0].1);
                for (area, is_label, text) in &texts {
                    let inside = x > area[0] && x < area[2] && y > area[1] && y < area[3];
                    assert!(!(inside && *is_label), "{name}: a curve passes through {text}");
                }
            }
        }
    }
}

fn browser() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("BITMMA_BROWSER") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

/// Opens a page with no name resolved to any address; its document after loading, and what it said.
fn open(browser: &Path, page: &Path, width: u32, more: &[String]) -> (String, String) {
    let profile = tempfile::tempdir().unwrap();
    let opened = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--no-first-run"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--window-size={width},900"))
        .args(more)
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    assert!(opened.status.success(), "{}", String::from_utf8_lossy(&opened.stderr));
    (
        String::from_utf8_lossy(&opened.stdout).into_owned(),
        String::from_utf8_lossy(&opened.stderr).into_owned(),
    )
}

/// Asks the browser how wide things became, how many tables are seen as they are, how high the highest of these is, how many
/// columns of figures there are, how many texts of all against all are shown, and whether the console is heard. What is
/// found goes to the page that frames this one: a browser's window is at least 500 wide, a frame need not be.
const PROBE: &str = "<script>
addEventListener('load', () => {
  const figures = [...document.querySelectorAll('figure svg')].map(svg => svg.getBoundingClientRect());
  const seen = figures.filter(box => box.width > 200 && box.height > 100).length;
  const tables = [...document.querySelectorAll('table')];
  const open = tables.filter(table => table.checkVisibility({contentVisibilityAuto: true}) && table.offsetHeight > 20).length;
  const highest = Math.max(...tables.map(table => table.checkVisibility({contentVisibilityAuto: true}) ? table.offsetHeight : 0));
  const columns = new Set(figures.map(box => Math.round(box.left))).size;
  const choices = [...document.querySelectorAll('.choice > *')].filter(one => one.checkVisibility()).length;
  document.querySelectorAll('details').forEach(one => { one.open = true; });
  const clipped = [...document.querySelectorAll('td,th')].filter(cell => cell.scrollWidth > cell.clientWidth + 1);
  parent.postMessage([innerWidth, document.documentElement.scrollWidth, seen, figures.length, tables.length, clipped.length, open, highest, columns, choices].join(' ')
    + '|' + clipped.slice(0, 3).map(cell => cell.textContent.slice(0, 60)).join('; '), '*');
  console.error('the console is heard');
});
</script></body>";

/// A page that shows the probed one in a frame of this width, and what that one found.
fn framed(width: u32) -> String {
    format!(
        "<!doctype html><body><iframe src=\"probed.html\" style=\"width:{width}px;height:900px;border:0\"></iframe>\n\
         <script>addEventListener('message', event => {{ document.body.dataset.probe = event.data; }});</script></body>"
    )
}

#[test]
fn a_browser_shows_the_page() {
    let Some(browser) = browser() else {
        println!("skipped: no browser (BITMMA_BROWSER, or chromium on the path)");
        return;
    };
    let report = &REPORT.1;
    let page = read(&report.join("index.html"));
    let (figures, tables) = (page.matches("<figure ").count(), page.matches("<table ").count());
    assert!(figures >= 5 && tables >= 20, "{figures} figures, {tables} tables");
    let dump = ["--dump-dom".to_owned(), "--virtual-time-budget=20000".to_owned()];
    let (document, said) = open(&browser, &report.join("index.html"), 1280, &dump);
    assert_eq!(document.matches("<figure ").count(), figures);
    assert!(!said.contains("CONSOLE"), "{said}");
    // the same page with a script that measures it, folded tables too, and proves that an error would have been heard; A4 with
    // margins is 718 wide, and its style is that of paper
    let frame = report.with_file_name("framed.html");
    for (width, is_paper) in [(1280, false), (390, false), (718, true)] {
        let page = if is_paper { page.replace("@media print{", "@media screen{") } else { page.clone() };
        std::fs::write(report.with_file_name("probed.html"), page.replace("</body>", PROBE)).unwrap();
        std::fs::write(&frame, framed(width)).unwrap();
        let (document, said) = open(&browser, &frame, 1400, &dump);
        assert!(said.contains("CONSOLE") && said.contains("the console is heard"), "{said}");
        let probe = document.split("data-probe=\"").nth(1).unwrap().split('"').next().unwrap();
        let numbers = probe.split('|').next().unwrap();
        let numbers: Vec<usize> = numbers.split(' ').map(|number| number.parse().unwrap()).collect();
        assert_eq!(numbers[0], width as usize, "{probe}");
        assert!(numbers[1] <= numbers[0], "the page is {} wide in a window of {}", numbers[1], numbers[0]);
        assert_eq!(numbers[2..6], [figures, figures, tables, 0], "{width}: {probe}");
        // on paper nothing can be unfolded or chosen
        assert_eq!(numbers[6] == tables, is_paper, "{width}: {probe}");
        assert_eq!(numbers[9] > 1, is_paper, "{width}: {probe}");
        // a phone shows no list of cards, a screen two figures side by side
        assert!(is_paper || numbers[7] <= 1_000, "{width}: {probe}");
        assert!(is_paper || (numbers[8] > 1) == (width > 1_000), "{width}: {probe}");
    }
    if let Some(kept) = std::env::var_os("BITMMA_REPORT").map(PathBuf::from) {
        std::fs::create_dir_all(&kept).unwrap();
        for width in [1280, 500] {
            let picture = format!("--screenshot={}", kept.join(format!("page-{width}.png")).display());
            open(
                &browser,
                &report.join("index.html"),
                width,
                &["--window-size=".to_owned() + &format!("{width},9000"), picture],
            );
        }
        let printed = format!("--print-to-pdf={}", kept.join("page.pdf").display());
        open(&browser, &report.join("index.html"), 1280, &[printed]);
    }
}

#[test]
fn a_large_scale_is_printed_in_a_few_digits() {
    let done = bitmma(&[
        "analyze",
        "bounds",
        "hopper",
        "mma.m16n8k16.f32.f16.f16.f32",
        "--quick",
        "--scale",
        "1e300",
    ]);
    assert!(done.status.success());
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("\n1e300·N(0,1), 32×32×1024"), "{text}");
}

//! `scripts/collect-calls` against a fake libcublasLt and a fake driver, which check what they are asked.

use std::path::{Path, PathBuf};
use std::process::Command;

use bitmma_calls::plan::MergeOrder;
use bitmma_calls::platform::{Platform, Sources, decide};
use bitmma_engine::formats::{BF16, E4M3};

/// The library and the driver in one. Every attribute is checked for its number and size; what is wrong is a status
/// that no other function gives.
const FAKE: &str = r#"
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
typedef struct { int transa, transb, fast, scales, d_scale; } Desc;
typedef struct { int type; uint64_t rows, columns; int64_t leading; } Layout;
typedef struct { uint64_t workspace; } Preference;
int cublasLtCreate(void **handle) { *handle = malloc(8); return 0; }
size_t cublasLtGetVersion(void) { return 120805; }
int cublasLtMatmulDescCreate(void **desc, int compute, int scale) {
  if (compute != 68 || scale != 0) return 70;
  *desc = calloc(1, sizeof(Desc)); ((Desc *)*desc)->fast = -1; return 0;
}
int cublasLtMatmulDescDestroy(void *desc) { free(desc); return 0; }
int cublasLtMatmulDescSetAttribute(Desc *desc, int attribute, const void *value, size_t size) {
  switch (attribute) {
    case 3: if (size != 4) return 71; desc->transa = *(const int32_t *)value; return 0;
    case 4: if (size != 4) return 72; desc->transb = *(const int32_t *)value; return 0;
    case 17: case 18: if (size != 8 || *(const uint64_t *)value != 4096) return 73; desc->scales++; return 0;
    case 20: if (size != 8) return 74; desc->d_scale = 1; return 0;
    case 25: if (size != 1) return 75; desc->fast = *(const int8_t *)value; return 0;
    default: return 76;
  }
}
int cublasLtMatrixLayoutCreate(void **out, int type, uint64_t rows, uint64_t columns, int64_t leading) {
  Layout *layout = malloc(sizeof(Layout));
  *layout = (Layout){type, rows, columns, leading}; *out = layout; return 0;
}
int cublasLtMatrixLayoutDestroy(void *layout) { free(layout); return 0; }
int cublasLtMatmulPreferenceCreate(void **out) { *out = calloc(1, sizeof(Preference)); return 0; }
int cublasLtMatmulPreferenceDestroy(void *preference) { free(preference); return 0; }
int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int attribute, const void *value, size_t size) {
  if (attribute != 1 || size != 8) return 77;
  preference->workspace = *(const uint64_t *)value; return 0;
}
/* parts = N / 64 if the workspace allows a split; STAGES_ID 36, ALGO_ID 66 */
int cublasLtMatmulAlgoGetHeuristic(void *handle, Desc *desc, Layout *a, Layout *b, Layout *c, Layout *d,
                                   Preference *preference, int wanted, void *result, int *count) {
  if (!handle || wanted != 1 || desc->transa != 1 || desc->transb != 0) return 78;
  int fp8 = a->type >= 28;
  if (fp8 ? (desc->scales != 2 || desc->fast < 0) : (desc->scales != 0 || desc->fast >= 0)) return 79;
  if (a->rows != b->rows || a->leading != (int64_t)a->rows || b->leading != (int64_t)b->rows) return 80;
  if (d->rows != a->columns || d->columns != b->columns || d->leading != (int64_t)d->rows) return 81;
  if (c->type != (d->type >= 28 ? 2 : d->type) || c->rows != d->rows || c->columns != d->columns) return 82;
  if (a->type == 28 && b->type == 28 && d->type == 29) { *count = 0; return 15; }
  int32_t fields[9] = {66, 393, preference->workspace ? (int32_t)(a->columns / 64) : 1, 0, 1, 3, 36, 0, 2};
  fields[3] = fields[2] > 1 ? 2 : 0;
  memset(result, 0, 96); memcpy(result, fields, sizeof fields); *count = 1; return 0;
}
int cublasLtMatmulAlgoConfigGetAttribute(const int32_t *algo, int attribute, void *value, size_t size, size_t *written) {
  if (attribute < 0 || attribute > 8 || size != (attribute < 7 ? 4 : 2)) return 83;
  memcpy(value, &algo[attribute], size); *written = size; return 0;
}
int cuInit(unsigned flags) { return flags; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)8; return device; }
int cuCtxSetCurrent(void *context) { return context != (void *)8; }
int cuDeviceGetName(char *name, int size, int device) { strncpy(name, "NVIDIA Fake 100", size); return device; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 16 ? 114 : attribute == 75 ? 9 : 0; return device;
}
int cuDriverGetVersion(int *version) { *version = 12080; return 0; }
int cuMemAlloc_v2(uint64_t *address, size_t size) { *address = 4096; return size != 256; }
"#;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn available(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|done| done.status.success())
}

#[test]
fn the_collector_asks_as_torch_does_and_its_lines_make_plans() {
    if !available("gcc") || !available("python3") {
        println!("skipped: no gcc or no python3");
        return;
    }
    let folder = Folder(std::env::temp_dir().join(format!("bitmma-collector-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let (source, library) = (folder.0.join("fake.c"), folder.0.join("libfake.so"));
    std::fs::write(&source, FAKE).expect("written");
    let built =
        Command::new("gcc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source).output();
    let built = built.expect("gcc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/collect-calls");
    let collect = |arguments: &[&str]| {
        let libraries = [Path::new("--library"), &library, Path::new("--driver"), &library];
        Command::new("python3").arg(&script).args(libraries).args(arguments).output().expect("python3 runs")
    };
    let done = collect(&["64x256x1024", "64x128x2048", "--types", "e4m3xe4m3,bf16xbf16", "--out", "bf16"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let lines = String::from_utf8(done.stdout).expect("text");
    assert_eq!(lines.lines().count(), 6, "{lines}");
    let first: serde_json::Value = serde_json::from_str(lines.lines().next().expect("a line")).expect("JSON");
    assert_eq!((first["capability"].as_str(), first["sm_count"].as_i64()), (Some("sm_90"), Some(114)));
    assert_eq!(first["cublaslt"], "12.8.5");
    assert_eq!(first["config"]["splitk"], 4);
    assert_eq!(first["config"]["cluster_shape"], 2);

    let path = folder.0.join("queries.jsonl");
    std::fs::write(&path, &lines).expect("written");
    let platform = Platform::parse("h100-pcie/cublaslt-12.8.5").expect("a platform");
    let mut sources = Sources { table: Some(path), ..Sources::default() };
    sources.assume.version = true;
    let query = platform.query((64, 256, 1024), (E4M3, E4M3, BF16), false);
    let decision = decide(&platform, &query, &sources).expect("a plan");
    assert_eq!((decision.plan.deal.parts, decision.plan.merge.order), (4, MergeOrder::Serial));
    assert_eq!(decision.plan.promote.every, 128);

    // a query that fails has a status and no configuration
    let done = collect(&["64x256x1024", "--out", "e5m2", "--accumulation", "fast"]);
    let line: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!((line["status"].as_i64(), line["config"].is_null()), (Some(15), true));
    let done = collect(&["64x256"]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("'64x256' is not MxNxK"));
}

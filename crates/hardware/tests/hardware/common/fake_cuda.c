// A libcuda.so.1 that is none: it keeps memory on the host, fails where it is told to, and hands every
// launch to the test that loaded it.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*kernel_t)(const char *ptx, const char *entry, unsigned blocks, unsigned threads, const void *in, void *out);

static const char *failing = "";
static int failure, devices = 1, major = 9, minor = 0, hangs, live;
static const char *log_text = "";
static kernel_t kernel;

struct function { const char *ptx; char entry[256]; };

// what tests set
void fake_fails(const char *call, int code) { failing = strdup(call); failure = code; }
void fake_devices(int count) { devices = count; }
void fake_capability(int a, int b) { major = a; minor = b; }
void fake_hangs(int yes) { hangs = yes; }
void fake_log(const char *text) { log_text = strdup(text); }
void fake_kernel(kernel_t k) { kernel = k; }
int fake_live(void) { return live; }

#define CALL(name) do { if (!strcmp(failing, name)) return failure; } while (0)

int cuInit(unsigned flags) { CALL("cuInit"); return 0; }
int cuDriverGetVersion(int *v) { CALL("cuDriverGetVersion"); *v = 12090; return 0; }
int cuGetErrorName(int code, const char **text) {
  *text = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 218 ? "CUDA_ERROR_INVALID_PTX"
        : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : 0;
  return *text ? 0 : 1;
}
int cuGetErrorString(int code, const char **text) { *text = code == 2 ? "out of memory" : 0; return *text ? 0 : 1; }
int cuDeviceGetCount(int *n) { CALL("cuDeviceGetCount"); *n = devices; return 0; }
int cuDeviceGet(int *d, int ordinal) { CALL("cuDeviceGet"); *d = 40 + ordinal; return 0; }
int cuDeviceGetName(char *name, int n, int d) { CALL("cuDeviceGetName"); strncpy(name, "a fake GPU", n); return 0; }
int cuDeviceGetAttribute(int *v, int which, int d) { CALL("cuDeviceGetAttribute"); *v = which == 75 ? major : which == 76 ? minor : -1; return 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { CALL("cuDevicePrimaryCtxRetain"); *c = &live; live++; return 0; }
int cuDevicePrimaryCtxRelease_v2(int d) { live--; return 0; }
int cuCtxSetCurrent(void *c) { CALL("cuCtxSetCurrent"); return c == &live ? 0 : 201; }
int cuModuleLoadDataEx(void **m, const void *text, unsigned n, const int *options, void *const *values) {
  if (!strcmp(failing, "cuModuleLoadDataEx")) {
    for (unsigned i = 0; i + 1 < n; i++)
      if (options[i] == 5 && options[i + 1] == 6) strncpy(values[i], log_text, (size_t)values[i + 1]);
    return failure;
  }
  struct function *f = calloc(1, sizeof *f);
  f->ptx = strdup(text);
  *m = f;
  live++;
  return 0;
}
int cuModuleUnload(void *m) { free((char *)((struct function *)m)->ptx); free(m); live--; return 0; }
int cuModuleGetFunction(void **f, void *m, const char *name) {
  CALL("cuModuleGetFunction");
  strncpy(((struct function *)m)->entry, name, 255);
  *f = m;
  return strstr(((struct function *)m)->ptx, name) ? 0 : 500;
}
int cuMemAlloc_v2(uint64_t *a, size_t bytes) { CALL("cuMemAlloc"); *a = (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256); live++; return 0; }
int cuMemFree_v2(uint64_t a) { free((void *)a); live--; return 0; }
int cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t n) { CALL("cuMemcpyHtoD"); memcpy((void *)to, from, n); return 0; }
int cuMemcpyDtoH_v2(void *to, uint64_t from, size_t n) { CALL("cuMemcpyDtoH"); memcpy(to, (void *)from, n); return 0; }
int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **arguments, void **extra) {
  CALL("cuLaunchKernel");
  struct function *function = f;
  if (hangs || !kernel) return 0;
  return kernel(function->ptx, function->entry, gx * gy * gz, bx * by * bz, *(void **)arguments[0], *(void **)arguments[1]);
}
#ifndef WITHOUT_STREAM_QUERY
int cuStreamQuery(void *s) { CALL("cuStreamQuery"); return hangs ? 600 : 0; }
#endif

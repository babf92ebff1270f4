// A libamdhip64.so that is none: it keeps memory on the host, fails where it is told to, and hands every
// launch to the test that loaded it. What it takes for a code object is the kernel's text.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*kernel_t)(const char *code, const char *entry, unsigned blocks, unsigned threads, const void *in, void *out);

static const char *failing = "", *target = "gfx90a:sramecc+:xnack-";
static int failure, devices = 1, hangs, live;
static kernel_t kernel;

struct function { const char *code; char entry[256]; };

// what tests set
void fake_fails(const char *call, int code) { failing = strdup(call); failure = code; }
void fake_devices(int count) { devices = count; }
void fake_target(const char *text) { target = strdup(text); }
void fake_hangs(int yes) { hangs = yes; }
void fake_kernel(kernel_t k) { kernel = k; }
int fake_live(void) { return live; }

#define CALL(name) do { if (!strcmp(failing, name)) return failure; } while (0)

int hipInit(unsigned flags) { CALL("hipInit"); return 0; }
int hipRuntimeGetVersion(int *v) { CALL("hipRuntimeGetVersion"); *v = 60342134; return 0; }
const char *hipGetErrorName(int code) { return code == 2 ? "hipErrorOutOfMemory" : code == 209 ? "hipErrorNoBinaryForGpu" : 0; }
const char *hipGetErrorString(int code) { return code == 2 ? "out of memory" : 0; }
int hipGetDeviceCount(int *n) { CALL("hipGetDeviceCount"); *n = devices; return 0; }
int hipGetDevicePropertiesR0600(char *properties, int device) {
  CALL("hipGetDeviceProperties");
  memset(properties, 0, 1472);
  strcpy(properties, "a fake Instinct");
  memset(properties + 256, 0x67, 64); // bytes that look like the beginning of gfx
  strcpy(properties + 1160, target);
  return 0;
}
int hipSetDevice(int device) { CALL("hipSetDevice"); return 0; }
int hipModuleLoadData(void **m, const void *code) {
  CALL("hipModuleLoadData");
  struct function *f = calloc(1, sizeof *f);
  f->code = strdup(code);
  *m = f;
  live++;
  return 0;
}
int hipModuleUnload(void *m) { free((char *)((struct function *)m)->code); free(m); live--; return 0; }
int hipModuleGetFunction(void **f, void *m, const char *name) {
  CALL("hipModuleGetFunction");
  strncpy(((struct function *)m)->entry, name, 255);
  *f = m;
  return strstr(((struct function *)m)->code, name) ? 0 : 500;
}
int hipMalloc(uint64_t *a, size_t bytes) { CALL("hipMalloc"); *a = (uint64_t)aligned_alloc(256, (bytes + 255) / 256 * 256); live++; return 0; }
int hipFree(uint64_t a) { free((void *)a); live--; return 0; }
int hipMemcpyHtoD(uint64_t to, const void *from, size_t n) { CALL("hipMemcpyHtoD"); memcpy((void *)to, from, n); return 0; }
int hipMemcpyDtoH(void *to, uint64_t from, size_t n) { CALL("hipMemcpyDtoH"); memcpy(to, (void *)from, n); return 0; }
int hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                          void *stream, void **arguments, void **extra) {
  CALL("hipModuleLaunchKernel");
  struct function *function = f;
  if (hangs || !kernel) return 0;
  return kernel(function->code, function->entry, gx * gy * gz, bx * by * bz, *(void **)arguments[0], *(void **)arguments[1]);
}
int hipStreamQuery(void *s) { CALL("hipStreamQuery"); return hangs ? 600 : 0; }

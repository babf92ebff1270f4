// A libamd_comgr.so that is none: its assembler and linker hand on what they are given.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef MAJOR
#define MAJOR 2
#endif
#define ASSEMBLE (MAJOR >= 3 ? 8 : 10)
#define LINK (MAJOR >= 3 ? 7 : 9)

struct data { int kind; size_t size; char *bytes; };
struct set { int count; struct data *data[8]; };

static int live, failing_action;
static char isa[64];
static const char *log_text = "";

void fake_fails(const char *call, int code) { failing_action = code; }
void fake_log(const char *text) { log_text = strdup(text); }
int fake_live(void) { return live; }

void amd_comgr_get_version(size_t *major, size_t *minor) { *major = MAJOR; *minor = 8; }
int amd_comgr_create_data(int kind, uint64_t *out) { struct data *d = calloc(1, sizeof *d); d->kind = kind; *out = (uint64_t)d; live++; return 0; }
int amd_comgr_release_data(uint64_t d) { live--; return 0; }
int amd_comgr_set_data(uint64_t h, size_t size, const char *bytes) {
  struct data *d = (struct data *)h;
  d->bytes = malloc(size); d->size = size; memcpy(d->bytes, bytes, size);
  return 0;
}
int amd_comgr_set_data_name(uint64_t d, const char *name) { return strcmp(name, "kernel.s") ? 2 : 0; }
int amd_comgr_get_data(uint64_t h, size_t *size, char *bytes) {
  struct data *d = (struct data *)h;
  if (bytes) memcpy(bytes, d->bytes, *size);
  *size = d->size;
  return 0;
}
int amd_comgr_create_data_set(uint64_t *out) { *out = (uint64_t)calloc(1, sizeof(struct set)); live++; return 0; }
int amd_comgr_destroy_data_set(uint64_t s) { live--; return 0; }
int amd_comgr_data_set_add(uint64_t s, uint64_t d) { struct set *set = (struct set *)s; set->data[set->count++] = (struct data *)d; return 0; }
int amd_comgr_action_data_count(uint64_t s, int kind, size_t *count) {
  struct set *set = (struct set *)s;
  *count = 0;
  for (int i = 0; i < set->count; i++) *count += set->data[i]->kind == kind;
  return 0;
}
int amd_comgr_action_data_get_data(uint64_t s, int kind, size_t index, uint64_t *out) {
  struct set *set = (struct set *)s;
  for (int i = 0; i < set->count; i++)
    if (set->data[i]->kind == kind && !index--) { *out = (uint64_t)set->data[i]; live++; return 0; }
  return 2;
}
int amd_comgr_create_action_info(uint64_t *out) { *out = 7; live++; return 0; }
int amd_comgr_destroy_action_info(uint64_t a) { live--; return 0; }
int amd_comgr_action_info_set_isa_name(uint64_t a, const char *name) { strncpy(isa, name, 63); return strncmp(name, "amdgcn-amd-amdhsa--gfx", 22) ? 2 : 0; }
int amd_comgr_action_info_set_logging(uint64_t a, _Bool on) { return on ? 0 : 2; }
int amd_comgr_do_action(int kind, uint64_t action, uint64_t from, uint64_t to) {
  struct set *in = (struct set *)from, *out = (struct set *)to;
  if (kind != ASSEMBLE && kind != LINK) return 2;
  if (in->count != 1 || in->data[0]->kind != (kind == ASSEMBLE ? 1 : 7)) return 2;
  struct data *d = calloc(1, sizeof *d);
  *d = *in->data[0];
  d->kind = kind == ASSEMBLE ? 7 : 8;
  // a text is ended by a zero, so that the fake driver can keep it
  if (kind == LINK) { d->bytes = calloc(1, d->size + 1); memcpy(d->bytes, in->data[0]->bytes, d->size); d->size++; }
  if (failing_action == kind) { d->kind = 5; d->bytes = strdup(log_text); d->size = strlen(log_text); }
  out->data[out->count++] = d;
  return failing_action == kind ? 1 : 0;
}

/* A product on all threads, then the same in child processes that were forked, while idle and while another thread of the
 * parent computes. A child that waits for threads it does not have is ended by its alarm. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bitmma.h"

enum { SIZE = 256, BYTES = 4 * SIZE * SIZE, CHILDREN = 8 };

static bitmma_unit *unit;
static uint16_t a[SIZE * SIZE], b[SIZE * SIZE];
static uint32_t expected[SIZE * SIZE];

static int differs(void) {
    static _Thread_local uint32_t d[SIZE * SIZE];
    const bitmma_operands operands = {{a, SIZE * SIZE, 0, 0}, {b, SIZE * SIZE, 0, 0}, {0}, {0}, {0}};
    const bitmma_gemm_options options = {0};
    const bitmma_output out = {d, SIZE * SIZE, 0, 0};
    if (bitmma_gemm(unit, SIZE, SIZE, SIZE, &operands, &options, &out) != BITMMA_OK) return puts(bitmma_last_error()), 2;
    if (expected[0] == 0) memcpy(expected, d, BYTES);
    return memcmp(expected, d, BYTES) != 0;
}

static void *compute(void *failed) {
    for (int time = 0; time < 40; time++) *(int *)failed |= differs();
    return NULL;
}

/* What `work` returns in a child, and in a child of that child. */
static int in_children(void) {
    int status;
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        if (differs()) _exit(3);
        const pid_t grandchild = fork();
        if (grandchild == 0) alarm(60), _exit(differs());
        _exit(waitpid(grandchild, &status, 0) != grandchild || status != 0);
    }
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

int main(void) {
    int failed = 0, meanwhile = 0;
    for (int at = 0; at < SIZE * SIZE; at++) a[at] = 0x3c00 + at % 7, b[at] = 0x3c00 + at % 11;
    if (bitmma_open("h100", "wgmma.m64nNk16.f32.f16.f16", NULL, &unit) != BITMMA_OK) return puts(bitmma_last_error()), 2;
    if (differs()) return puts("the first product"), 1;
    failed |= in_children();
    pthread_t other;
    if (pthread_create(&other, NULL, compute, &meanwhile) != 0) return 2;
    for (int child = 0; child < CHILDREN; child++) failed |= in_children();
    pthread_join(other, NULL);
    bitmma_close(unit);
    printf("%s\n", failed | meanwhile ? "a child failed" : "all children computed");
    return failed | meanwhile;
}

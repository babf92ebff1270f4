/* Checks that are counted. */
#include <stdio.h>
#include <string.h>

#include "bitmma.h"

static int passed, failed;

static void report(int right, int line, const char *what) {
    if (right) {
        passed++;
        return;
    }
    failed++;
    printf("line %d: %s (%s)\n", line, what, bitmma_last_error());
}
#define CHECK(condition) report(condition, __LINE__, #condition)
/* An error with this status, and a text with these words. */
#define FAILS(call, expected, words) report((call) == (expected) && strstr(bitmma_last_error(), words), __LINE__, #call)

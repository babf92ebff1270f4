/* Compiled against an installed tree: one instruction on ones. */
#include <bitmma.h>
#include <stdio.h>

int main(void) {
    bitmma_unit *unit;
    if (bitmma_open("h100", "mma.m16n8k16.f32.f16.f16.f32", NULL, &unit) != BITMMA_OK) return puts(bitmma_last_error()), 1;
    uint16_t a[256], b[128];
    float d[128];
    for (int i = 0; i < 256; i++) a[i] = 0x3c00, b[i / 2] = 0x3c00;
    bitmma_operands operands = {{a, 256, 0, 0}, {b, 128, 0, 0}, {0}, {0}, {0}};
    bitmma_output out = {d, 128, 0, 0};
    if (bitmma_multiply(unit, &operands, 1, &out) != BITMMA_OK) return puts(bitmma_last_error()), 1;
    bitmma_close(unit);
    printf("bitmma %s: %g\n", bitmma_version(), d[127]);
    return 0;
}

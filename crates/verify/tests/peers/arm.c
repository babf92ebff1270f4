/* BFDOT and BFMMLA of an AArch64 processor, over the protocol: ./arm bfdot, ./arm bfmmla */
#include <arm_neon.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header { char magic[4]; uint32_t sequence, count, length; };

/* M = N = 4, K = 2: a row of D at a time */
static void bfdot(const uint16_t *a, const uint16_t *b, const float *c, float *d) {
    for (int i = 0; i < 4; i++) {
        uint16_t x[8], y[8];
        for (int j = 0; j < 8; j++) x[j] = a[2 * i + j % 2], y[j] = b[4 * (j % 2) + j / 2];
        bfloat16x8_t left = (bfloat16x8_t)vld1q_u16(x), right = (bfloat16x8_t)vld1q_u16(y);
        vst1q_f32(d + 4 * i, vbfdotq_f32(vld1q_f32(c + 4 * i), left, right));
    }
}

/* M = N = 2, K = 4: the second factor is taken by columns */
static void bfmmla(const uint16_t *a, const uint16_t *b, const float *c, float *d) {
    uint16_t y[8];
    for (int j = 0; j < 8; j++) y[j] = b[2 * (j % 4) + j / 4];
    vst1q_f32(d, vbfmmlaq_f32(vld1q_f32(c), (bfloat16x8_t)vld1q_u16(a), (bfloat16x8_t)vld1q_u16(y)));
}

int main(int count, char **words) {
    int dot = count > 1 && strcmp(words[1], "bfdot") == 0, m = dot ? 4 : 2, k = dot ? 2 : 4;
    printf("{\"bitmma\":1,\"name\":\"cpu:%s\",\"m\":%d,\"n\":%d,\"k\":%d,\"a\":\"bf16\",\"b\":\"bf16\",\"c\":\"f32\","
           "\"d\":\"f32\"}\n", dot ? "bfdot" : "bfmmla", m, m, k);
    fflush(stdout);
    struct header head;
    while (fread(&head, sizeof head, 1, stdin) == 1) {
        char *request = malloc(head.length + 1);
        float *d = malloc(4ul * head.count * m * m + 1);
        if (!request || !d || fread(request, 1, head.length, stdin) != head.length) return 1;
        const uint16_t *a = (uint16_t *)request, *b = a + (size_t)head.count * m * k;
        const float *c = (float *)(b + (size_t)head.count * m * k);
        for (size_t at = 0; at < head.count; at++)
            (dot ? bfdot : bfmmla)(a + at * m * k, b + at * m * k, c + at * m * m, d + at * m * m);
        memcpy(head.magic, "MMAD", 4);
        head.length = head.count * m * m * 4;
        fwrite(&head, sizeof head, 1, stdout);
        fwrite(d, 1, head.length, stdout);
        fflush(stdout);
        free(request), free(d);
    }
    return 0;
}

/* A unit in C: D = A·B + C in FP32, a chain of fused multiply-adds along K.
 *
 *     cc -O2 -o unit examples/protocol/unit.c -lm
 *     bitmma verify exec:./unit --model fma.toml
 *
 * Little-endian machines only: the frames are read as they come. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { M = 8, N = 8, K = 4 };
struct header { char magic[4]; uint32_t sequence, count, length; };

int main(void) {
    printf("{\"bitmma\":1,\"name\":\"c-fma-fp32\",\"m\":%d,\"n\":%d,\"k\":%d,\"blocks\":1,"
           "\"a\":\"f32\",\"b\":\"f32\",\"c\":\"f32\",\"d\":\"f32\"}\n", M, N, K);
    fflush(stdout);
    struct header head;
    while (fread(&head, sizeof head, 1, stdin) == 1) {
        if (memcmp(head.magic, "MMAQ", 4) != 0) return 1;
        float *request = malloc(head.length + 1), *d = malloc(4ul * head.count * M * N + 1);
        if (!request || !d || fread(request, 1, head.length, stdin) != head.length) return 1;
        /* all A of the batch, then all B, then all C */
        const float *a = request, *b = a + (size_t)head.count * M * K, *c = b + (size_t)head.count * K * N;
        for (size_t at = 0; at < head.count; at++, a += M * K, b += K * N)
            for (int i = 0; i < M; i++)
                for (int j = 0; j < N; j++) {
                    float sum = c[at * M * N + i * N + j];
                    for (int k = 0; k < K; k++) sum = fmaf(a[i * K + k], b[k * N + j], sum);
                    d[at * M * N + i * N + j] = sum;
                }
        memcpy(head.magic, "MMAD", 4);
        head.length = head.count * M * N * 4;
        fwrite(&head, sizeof head, 1, stdout);
        fwrite(d, 1, head.length, stdout);
        fflush(stdout);
        free(request), free(d);
    }
    return 0;
}

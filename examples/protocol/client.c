/* A client in C: asks `bitmma serve` for D = A·B + C on ones, with C = 2.
 *
 *     cc -O2 -o client examples/protocol/client.c
 *     ./client bitmma serve sim:h100/mma.m16n8k16.f32.f16.f16.f32
 *
 * Little-endian machines only. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { M = 16, N = 8, K = 16 };
struct header { char magic[4]; uint32_t sequence, count, length; };
static struct { struct header head; uint16_t a[M * K], b[K * N]; float c[M * N]; } request;

int main(int words, char **command) {
    int to[2], from[2]; /* pipes: reading end, writing end */
    if (words < 2 || pipe(to) || pipe(from)) return 2;
    if (fork() == 0) {
        dup2(to[0], 0), dup2(from[1], 1), close(to[1]), close(from[0]);
        execvp(command[1], command + 1);
        return perror(command[1]), 2;
    }
    FILE *unit = (close(to[0]), close(from[1]), fdopen(from[0], "rb"));
    static char hello[65537], text[65537];
    if (!fgets(hello, sizeof hello, unit) || !strstr(hello, "\"m\":16,\"n\":8,\"k\":16"))
        return fprintf(stderr, "another unit: %s\n", hello), 2;
    for (int i = 0; i < M * K; i++) request.a[i] = 0x3c00; /* one */
    for (int i = 0; i < K * N; i++) request.b[i] = 0x3c00;
    for (int i = 0; i < M * N; i++) request.c[i] = 2;
    request.head = (struct header){"MMAQ", 0, 1, sizeof request - sizeof request.head};
    if (write(to[1], &request, sizeof request) != sizeof request) return perror("write"), 2;
    struct header head;
    static float d[M * N];
    if (fread(&head, sizeof head, 1, unit) != 1) return fprintf(stderr, "no answer\n"), 2;
    if (memcmp(head.magic, "MMAE", 4) == 0) /* a refusal, in words */
        return fprintf(stderr, "%.*s\n", (int)fread(text, 1, head.length < 65536 ? head.length : 65536, unit), text), 2;
    if (memcmp(head.magic, "MMAD", 4) || head.length != sizeof d || fread(d, sizeof d, 1, unit) != 1) return 2;
    return printf("%g\n", d[0]) < 0;
}

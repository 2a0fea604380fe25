/* The time of day, so many seconds off: preloaded into the product's processes (clock.py says why).
 *
 * SOAK_CLOCK names a file of eight bytes, which is mapped: a write there steps the clock of all of them
 * at once. Waiting goes by the monotonic clock, which is left alone; only a semaphore's deadline is a time of
 * day, and is led back to the machine's. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *off;
static int (*real_gettime)(clockid_t, struct timespec *);
static int (*real_wait)(sem_t *, const struct timespec *);

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("SOAK_CLOCK");
    real_gettime = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    real_wait = (int (*)(sem_t *, const struct timespec *))dlsym(RTLD_NEXT, "sem_timedwait");
    int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *found = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (found != MAP_FAILED) off = found;
}

static int64_t seconds(void) { return off ? *off : 0; }

int clock_gettime(clockid_t which, struct timespec *at) {
    int done = real_gettime ? real_gettime(which, at) : (int)syscall(SYS_clock_gettime, which, at);
    if (done == 0 && (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) at->tv_sec += seconds();
    return done;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}

int sem_timedwait(sem_t *restrict sem, const struct timespec *restrict until) {
    struct timespec machine = *until;
    machine.tv_sec -= seconds();
    return real_wait(sem, &machine);
}

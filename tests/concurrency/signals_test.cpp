// Calls in processes with signal handlers, timers and cancelled threads.
#include "split_call.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace concurrency_test {
namespace {

class handled {
public:
    handled(int signal, void (*handler)(int, siginfo_t *, void *)) : signal(signal) {
        struct sigaction action{};
        action.sa_sigaction = handler;
        action.sa_flags = SA_SIGINFO;  // not SA_RESTART: system calls end with EINTR
        sigaction(signal, &action, &before);
    }
    ~handled() { sigaction(signal, &before, nullptr); }
    handled(const handled &) = delete;

private:
    int signal;
    struct sigaction before;
};

class Signals : public api_test::Api {
protected:
    void SetUp() override { qdq_set_num_threads(4); }
    split_call call;
};

TEST_F(Signals, of_a_timer_interrupt_calls_without_harm) {
    static std::atomic<int> signals;
    signals = 0;
    const handled alarms(SIGALRM, [](int, siginfo_t *, void *) { signals++; });
    const itimerval often{{0, 200}, {0, 200}}, never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 200 || signals < 20; i++) {
        EXPECT_TRUE(call.is_right());
    }
    setitimer(ITIMER_REAL, &never, nullptr);
}

TEST_F(Signals, for_the_process_go_to_the_program_s_threads) {
    static std::atomic<bool> ran;
    ran = false;
    const handled user(SIGUSR1, [](int, siginfo_t *, void *) { ran = true; });
    ASSERT_TRUE(call.is_right());  // the library's threads are there, made where nothing was blocked
    sigset_t own, before, pending;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &own, &before);
    kill(getpid(), SIGUSR1);
    for (int i = 0; i < 20; i++) {
        EXPECT_TRUE(call.is_right());
    }
    EXPECT_FALSE(ran);
    sigpending(&pending);
    EXPECT_TRUE(sigismember(&pending, SIGUSR1));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    EXPECT_TRUE(ran);
}

// As a garbage collector's barrier does, or a file mapped page by page.
TEST_F(Signals, of_faults_reach_handlers_that_make_memory_readable) {
    static std::atomic<int64_t> faults;
    static int64_t page;
    page = sysconf(_SC_PAGESIZE);
    faults = 0;
    const handled segment(SIGSEGV, [](int, siginfo_t *info, void *) {
        faults++;
        char *at = static_cast<char *>(info->si_addr);
        mprotect(at - reinterpret_cast<intptr_t>(at) % page, static_cast<size_t>(page), PROT_READ | PROT_WRITE);
    });
    const int64_t elements = int64_t{1} << 22, bytes = 4 * elements;
    float *x = static_cast<float *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(x, MAP_FAILED);
    std::fill(x, x + elements, 3.0f);
    mprotect(x, bytes, PROT_NONE);
    float step = 0.5f;
    std::vector<int8_t> codes(static_cast<size_t>(elements));
    const qdq_tensor c_x{x, QDQ_F32, 1, &elements, nullptr}, c_scale{&step, QDQ_F32, 0, nullptr, nullptr};
    const qdq_tensor c_y{codes.data(), QDQ_I8, 1, &elements, nullptr};
    EXPECT_EQ(qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr), QDQ_OK) << qdq_last_error();
    EXPECT_EQ(codes, std::vector<int8_t>(codes.size(), 6));
    EXPECT_GE(faults, bytes / page);
    munmap(x, bytes);
}

TEST_F(Signals, of_cancellation_wait_for_the_end_of_a_call) {
    for (int i = 0; i < 50; i++) {
        struct shared {
            split_call &call;
            std::atomic<int> calls{0};
            std::atomic<bool> cancelled{false}, was_right{false};
        } own{call};
        pthread_t thread;
        ASSERT_EQ(pthread_create(
                      &thread, nullptr,
                      [](void *context) -> void * {
                          shared &own = *static_cast<shared *>(context);
                          do {
                              own.was_right = false;
                              own.was_right = own.call.is_right();
                              own.calls++;
                          } while (!own.cancelled);
                          pthread_testcancel();
                          return nullptr;
                      },
                      &own),
                  0);
        while (own.calls == 0) {
        }
        pthread_cancel(thread);
        usleep(static_cast<useconds_t>(i % 10 * 20));
        own.cancelled = true;
        void *result = nullptr;
        pthread_join(thread, &result);
        EXPECT_EQ(result, PTHREAD_CANCELED);
        EXPECT_TRUE(own.was_right);
    }
}

// A handler's calls run on the thread whose calls it interrupts, at any place.
struct signal_calls {
    float x[64], scale = 0.5f, other_scale = 0.25f;
    int8_t y[5][64];
    const int64_t shape = 64;

    bool is_right(int which) {
        const float step = which % 2 == 0 ? scale : other_scale;
        const qdq_tensor c_x{x, QDQ_F32, 1, &shape, nullptr}, c_y{y[which], QDQ_I8, 1, &shape, nullptr};
        const qdq_tensor c_scale{which % 2 == 0 ? &scale : &other_scale, QDQ_F32, 0, nullptr, nullptr};
        const bool done = qdq_quantize(&c_x, &c_scale, nullptr, &c_y, nullptr) == QDQ_OK;
        return done && std::all_of(y[which], y[which] + 64, [=](int8_t code) { return code == 3.0f / step; });
    }
};

TEST_F(Signals, whose_handlers_call_the_library_leave_the_calls_that_they_interrupt_as_they_are) {
    static signal_calls mine, of_handler;
    static std::atomic<int> signals, wrong;
    signals = wrong = 0;
    std::fill_n(mine.x, 64, 3.0f);
    std::fill_n(of_handler.x, 64, 3.0f);
    of_handler.scale = 1.0f;
    of_handler.other_scale = 0.125f;
    const handled alarms(SIGALRM, [](int, siginfo_t *, void *) {
        for (int which = 0; which < 5; which++) {
            wrong += !of_handler.is_right(which);
        }
        signals++;
    });
    const itimerval often{{0, 200}, {0, 200}}, never{};
    setitimer(ITIMER_REAL, &often, nullptr);
    for (int i = 0; i < 200000 || signals < 100; i++) {
        wrong += !mine.is_right(i % 3);  // fewer than are kept
    }
    setitimer(ITIMER_REAL, &never, nullptr);
    EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace concurrency_test

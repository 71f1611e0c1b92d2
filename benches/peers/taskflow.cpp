// Nanoseconds that Taskflow takes for an empty task: least of many runs of one prebuilt graph.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <taskflow/taskflow.hpp>

namespace {

void measure(const char* shape, tf::Taskflow& graph, std::size_t tasks, std::size_t threads) {
  tf::Executor executor(threads);
  executor.run(graph).wait();
  double best = 1e300, spent = 0;
  while (spent < 0.7) {
    const auto start = std::chrono::steady_clock::now();
    executor.run(graph).wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
    spent += took.count();
  }
  std::printf("%s %zu %.1f\n", shape, threads, best * 1e9 / static_cast<double>(tasks));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t tasks = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 10000;
  std::fprintf(stderr, "Taskflow %d.%d.%d\n", TF_MAJOR_VERSION, TF_MINOR_VERSION, TF_PATCH_VERSION);
  for (std::size_t threads : {1, 2}) {
    tf::Taskflow chain, wide;
    tf::Task last;
    for (std::size_t i = 0; i < tasks; ++i) {
      auto task = chain.emplace([] {});
      if (i > 0) last.precede(task);
      last = task;
    }
    // One task before all others, one after them.
    auto first = wide.emplace([] {}), end = wide.emplace([] {});
    for (std::size_t i = 0; i + 2 < tasks; ++i) {
      auto task = wide.emplace([] {});
      first.precede(task);
      task.precede(end);
    }
    measure("chain", chain, tasks, threads);
    measure("wide", wide, tasks, threads);
  }
}

#include "exec/trace.h"

#include <doctest/doctest.h>

#include <thread>

using tp::Span;
using tp::Trace;

TEST_CASE("spans are kept between start and stop only") {
  Trace trace;
  trace.add({.kind = Span::Kind::upload, .device = 0, .name = "before"});
  trace.start();
  CHECK(trace.recording());
  trace.add({.kind = Span::Kind::upload, .device = 0, .name = "during"});
  std::vector<Span> spans = trace.stop();
  REQUIRE(spans.size() == 1);
  CHECK(spans[0].name == "during");
  CHECK(!trace.recording());
  CHECK(trace.stop().empty());
}

TEST_CASE("stop waits for the spans that were announced") {
  Trace trace;
  trace.start();
  trace.expect();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    trace.add_expected({.kind = Span::Kind::program, .device = 0, .name = "late", .start = 1, .end = 2});
  });
  CHECK(trace.stop().size() == 1);
  later.join();
}

TEST_CASE("a program begins when the one before it on its device has ended") {
  Trace trace;
  trace.start();
  trace.add({.kind = Span::Kind::program, .device = 0, .name = "second", .start = 12, .end = 40});
  trace.add({.kind = Span::Kind::program, .device = 0, .name = "first", .start = 10, .end = 30});
  trace.add({.kind = Span::Kind::program, .device = 1, .name = "elsewhere", .start = 13, .end = 20});
  trace.add({.kind = Span::Kind::download, .device = 0, .name = "copy", .start = 14, .end = 41});
  std::vector<Span> spans = trace.stop();
  REQUIRE(spans.size() == 4);
  CHECK(spans[0].name == "first");
  CHECK(spans[0].start == 10);
  CHECK(spans[1].start == 30);
  CHECK(spans[2].start == 13);
  CHECK(spans[3].start == 14);
}

#pragma once
// The end of asynchronous work. An error of that work is delivered by await() or to the callback.
// Thread-safe, except for moves. An empty Event counts as done.

#include <functional>
#include <memory>

#include "base/error.h"

struct PJRT_Event;

namespace tp {

class Plugin;

class Event {
 public:
  Event() = default;
  // Takes the handle; nullptr gives an empty Event.
  Event(const Plugin& plugin, PJRT_Event* event);

  // Blocks until the work is done.
  Status await() const;
  Result<bool> is_ready() const;
  // Calls back once, on a thread of the plugin or at once on this one; the callback must not block.
  // Consumes the event, which lives until then. When an error is returned, the callback was not registered.
  Status on_ready(std::function<void(Status)> callback) &&;

 private:
  struct Destroy {
    const Plugin* plugin;
    void operator()(PJRT_Event* event) const;
  };
  const Plugin& plugin() const { return *event_.get_deleter().plugin; }

  std::unique_ptr<PJRT_Event, Destroy> event_;
};

}  // namespace tp

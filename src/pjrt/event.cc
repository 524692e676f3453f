#include "pjrt/event.h"

#include "pjrt/call.h"

namespace tp {
namespace {

// What a registered callback keeps until it has run.
struct Pending {
  const Plugin* plugin;
  std::function<void(Status)> callback;
  Event event;
};

void run_pending(PJRT_Error* error, void* argument) {
  std::unique_ptr<Pending> pending(static_cast<Pending*>(argument));
  pending->callback(error ? Status(take_error(*pending->plugin, error)) : done());
}

}  // namespace

void Event::Destroy::operator()(PJRT_Event* event) const {
  (void)perform(*plugin, &PJRT_Api::PJRT_Event_Destroy, {.event = event});
}

Event::Event(const Plugin& plugin, PJRT_Event* event) : event_(event, Destroy{&plugin}) {}

Status Event::await() const {
  if (!event_) return done();
  return perform(plugin(), &PJRT_Api::PJRT_Event_Await, {.event = event_.get()});
}

Result<bool> Event::is_ready() const {
  if (!event_) return true;
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Event_IsReady, {.event = event_.get()}));
  return args.is_ready;
}

Status Event::on_ready(std::function<void(Status)> callback) && {
  if (!event_) {
    callback(done());
    return done();
  }
  const Plugin& plugin = this->plugin();
  PJRT_Event* event = event_.get();
  auto pending = std::make_unique<Pending>(Pending{&plugin, std::move(callback), std::move(*this)});
  Status status = perform(plugin, &PJRT_Api::PJRT_Event_OnReady,
                          {.event = event, .callback = run_pending, .user_arg = pending.get()});
  // The callback may have run and freed it already.
  if (status.ok()) pending.release();
  return status;
}

}  // namespace tp

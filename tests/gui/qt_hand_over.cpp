// Debian's Qt is not compiled for ThreadSanitizer, which does not see that what is handed over by Qt's queues
// comes before what is done with it. In its build the two functions by which the window and its threads hand
// work to each other stand here in the place of Qt's: they say so of each piece of work, and leave the rest
// to Qt. What both sides touch without handing it over is reported as ever.
#ifdef __SANITIZE_THREAD__
#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <QMetaObject>
#include <QRunnable>
#include <QThreadPool>
#include <functional>
#include <utility>

extern "C" {  // of ThreadSanitizer's library, without a header
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace {

/// A slot that was posted. ThreadSanitizer orders the post before the call by the address of this object.
class PostedSlot : public QtPrivate::QSlotObjectBase {
 public:
  explicit PostedSlot(QtPrivate::QSlotObjectBase* slot) : QSlotObjectBase(&PostedSlot::act), slot_(slot) {
    __tsan_release(this);
  }

 private:
  static void act(int operation, QSlotObjectBase* self, QObject* receiver, void** arguments, bool*) {
    __tsan_acquire(self);
    auto* const posted = static_cast<PostedSlot*>(self);
    if (operation == Call) {
      posted->slot_->call(receiver, arguments);
    } else if (operation == Destroy) {
      posted->slot_->destroyIfLastRef();
      delete posted;
    }
  }

  QtPrivate::QSlotObjectBase* const slot_;
};

/// Work for a pool's thread, ordered in the way of PostedSlot.
class QueuedWork : public QRunnable {
 public:
  explicit QueuedWork(std::function<void()> work) : work_(std::move(work)) { __tsan_release(this); }
  void run() override {
    __tsan_acquire(this);
    work_();
  }

 private:
  const std::function<void()> work_;
};

}  // namespace

bool QMetaObject::invokeMethodImpl(QObject* object, QtPrivate::QSlotObjectBase* slot, Qt::ConnectionType type,
                                   void* result) {
  using Invoke = bool(QObject*, QtPrivate::QSlotObjectBase*, Qt::ConnectionType, void*);
  static auto* const invoke = reinterpret_cast<Invoke*>(dlsym(
      RTLD_NEXT,
      "_ZN11QMetaObject16invokeMethodImplEP7QObjectPN9QtPrivate15QSlotObjectBaseEN2Qt14ConnectionTypeEPv"));
  auto* const posted = new PostedSlot(slot);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);  // the event, which is Qt's and allocated in there
  const bool done = invoke(object, posted, type, result);
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  return done;
}

void QThreadPool::start(std::function<void()> work, int priority) {
  start(new QueuedWork(std::move(work)), priority);
}
#endif

#pragma once

#include <QWidget>

#include "gui/model/job.h"
#include "reports/figures/decoder_guess.h"
#include "reports/figures/document.h"

class QLabel;
class QVBoxLayout;

namespace headroom::gui {

/// Guesses the decoder of a recording in a background thread. Each matching decoder and size gets a button.
/// Only a press of a button changes the question.
class DecoderGuessBox : public QWidget {
  Q_OBJECT
 public:
  explicit DecoderGuessBox(QWidget* parent = nullptr);
  bool busy() const { return job_.busy(); }
  /// True if the recording is of other decoders or sizes than the request's.
  bool contradicts(const Request& request) const;
  /// `device` is an index into the devices of a document of profiler::MemoryHistory.
  void guess(const reports::DocumentPtr& history, size_t device);

 Q_SIGNALS:
  void chosen(const headroom::Request& request);
  void busyChanged(bool busy);

 private:
  void show(const reports::DecoderGuess& guess);
  void clear();
  /// "wan2.1 832x480, 81 frames, bf16 / fp16".
  static QString name_of(const reports::DecoderFit& fit);
  QVBoxLayout* column_;
  std::vector<reports::DecoderFit> fits_;
  Job job_;
};

}  // namespace headroom::gui

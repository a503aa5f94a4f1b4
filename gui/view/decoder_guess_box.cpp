#include "gui/view/decoder_guess_box.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/view/paragraph.h"

namespace headroom::gui {
namespace {

constexpr size_t kMostGuesses = 4;

}  // namespace

DecoderGuessBox::DecoderGuessBox(QWidget* parent) : QWidget(parent), column_(new QVBoxLayout(this)) {
  column_->setContentsMargins({});
  connect(&job_, &Job::busyChanged, this, &DecoderGuessBox::busyChanged);
  hide();
}

void DecoderGuessBox::guess(const reports::DocumentPtr& history, size_t device) {
  clear();
  job_.start(
      [history, device](const Job::Turn&) {
        const auto& recorded = *history->as<profiler::MemoryHistory>();
        return reports::guess_decoder(recorded, recorded.devices[device]);
      },
      [this](const reports::DecoderGuess& guess) { show(guess); }, [](const QString&) {});
}

bool DecoderGuessBox::contradicts(const Request& request) const {
  return !fits_.empty() && std::none_of(fits_.begin(), fits_.end(), [&](const reports::DecoderFit& fit) {
    return fit.request.model == request.model && fit.request.width_pixels == request.width_pixels &&
           fit.request.height_pixels == request.height_pixels;
  });
}

void DecoderGuessBox::clear() {
  job_.forget();
  fits_.clear();
  hide();
  const QList<QWidget*> shown = findChildren<QWidget*>(Qt::FindDirectChildrenOnly);
  for (QWidget* widget : shown) delete widget;
}

QString DecoderGuessBox::name_of(const reports::DecoderFit& fit) {
  const Request& request = fit.request;
  QString name = QStringLiteral("%1 %2x%3")
                     .arg(QString::fromStdString(request.model))
                     .arg(request.width_pixels)
                     .arg(request.height_pixels);
  if (request.frames > 1)
    name += (fit.frames_known ? tr(", %1 frames").arg(request.frames)
                              : tr(", at least %1 frames").arg(request.frames));
  return name + (request.dtype == Dtype::fp32 ? QStringLiteral(", fp32") : QStringLiteral(", bf16 / fp16"));
}

void DecoderGuessBox::show(const reports::DecoderGuess& guess) {
  fits_ = guess.fits;
  auto* words = paragraph(this);
  words->setObjectName(QStringLiteral("guess"));
  words->setText(guess.fits.empty() ? tr("No decoder was recognised in this recording.")
                 : guess.fits.size() == 1
                     ? tr("The stacks and the largest tensors suggest this decode:")
                     : tr("The stacks and the largest tensors suggest one of these decodes:"));
  column_->addWidget(words);
  for (size_t i = 0; i < std::min(guess.fits.size(), kMostGuesses); ++i) {
    const reports::DecoderFit& fit = guess.fits[i];
    auto* ask = new QPushButton(name_of(fit), this);
    ask->setToolTip(tr("Computes the memory that Headroom needs for this decode"));
    connect(ask, &QPushButton::clicked, this, [this, request = fit.request] { Q_EMIT chosen(request); });
    column_->addWidget(ask);
  }
  setVisible(true);
}

}  // namespace headroom::gui

# The programs without LibTorch on Debian's slim image:
#
#   docker build -t headroom .
#   docker run --rm -v "$PWD:/work" headroom headroom-decode --limit auto --model vae/ --latent latent.npy -o picture.png
FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241 AS build
RUN apt-get update -q && apt-get install -y -q --no-install-recommends make ca-certificates
WORKDIR /headroom
COPY . .
RUN make packages gui-packages \
 && cmake --preset demo -DHEADROOM_GUI=ON \
 && cmake --build build --target programs \
 && cpack --config build/CPackConfig.cmake -B build/debs

FROM debian:bookworm-slim@sha256:abd67ffcfa541b485a3dff59865ab629aa048a6c613e639d36e7456b0b229241
COPY --from=build /headroom/build/debs/*.deb /tmp/
RUN apt-get update -q && apt-get install -y -q --no-install-recommends /tmp/*.deb \
 && rm -rf /tmp/*.deb /var/lib/apt/lists/*
WORKDIR /work
CMD ["headroom-plan", "--help"]

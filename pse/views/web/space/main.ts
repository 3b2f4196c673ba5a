// Volumes and points in three dimensions, turned and moved with the mouse (three.js).

import {
  BackSide,
  Box3,
  BoxGeometry,
  BufferAttribute,
  BufferGeometry,
  Data3DTexture,
  DataTexture,
  LinearFilter,
  LinearSRGBColorSpace,
  Mesh,
  Object3D,
  OrthographicCamera,
  Points,
  PointsMaterial,
  RedFormat,
  Scene,
  ShaderMaterial,
  Sphere,
  UniformsUtils,
  Vector2,
  Vector3,
  WebGLRenderer,
} from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { VolumeRenderShader1 } from "three/addons/shaders/VolumeShader.js";

const FAR = 10; // radii of what is shown, from the camera

export function openSpace(holder: HTMLElement, colours: Uint8Array<ArrayBuffer>): Promise<Space> {
  return new Promise((resolve) => resolve(new Space(holder, colours)));
}

export class Space {
  private readonly renderer = new WebGLRenderer({ antialias: true, alpha: true });
  private readonly scene = new Scene();
  private readonly camera = new OrthographicCamera();
  private readonly controls: OrbitControls;
  private readonly size: ResizeObserver;
  private shown: Cloud | Body | null = null;

  constructor(
    private readonly holder: HTMLElement,
    private readonly colours: Uint8Array<ArrayBuffer>,
  ) {
    this.renderer.setPixelRatio(devicePixelRatio);
    this.renderer.outputColorSpace = LinearSRGBColorSpace; // Colours come as they are shown.
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.addEventListener("change", () => this.draw());
    this.size = new ResizeObserver(() => this.draw());
    this.size.observe(holder);
    holder.append(this.renderer.domElement);
  }

  // Rows of three coordinates, or more numbers; a place in the table of colours for each.
  showPoints(values: Float32Array, columns: number, places: Uint8Array): void {
    if (!(this.shown instanceof Cloud)) this.replace(new Cloud());
    const cloud = this.shown as Cloud,
      first = cloud.show(values, columns, places, this.colours);
    if (first) this.lookAt(cloud.sphere());
    this.draw();
  }

  // Places in the table of colours; the surface where they pass a share of it, or the greatest along the sight.
  showVolume(places: Uint8Array<ArrayBuffer>, cells: number[], level: number | null): void {
    const fits = this.shown instanceof Body && this.shown.cells.join() === cells.join();
    if (!fits) {
      this.replace(new Body(cells, this.colours));
      this.lookAt((this.shown as Body).sphere());
    }
    (this.shown as Body).show(places, level);
    this.draw();
  }

  close(): void {
    this.size.disconnect();
    this.replace(null);
    this.controls.dispose();
    this.renderer.dispose();
    this.renderer.domElement.remove();
  }

  private replace(next: Cloud | Body | null): void {
    if (this.shown) this.scene.remove(this.shown.object);
    this.shown?.close();
    this.shown = next;
    if (next) this.scene.add(next.object);
  }

  private lookAt({ center, radius }: Sphere): void {
    const half = 1.1 * (radius || 1),
      from = new Vector3(1, -1.6, 0.9).setLength(FAR * half);
    Object.assign(this.camera, { left: -half, right: half, top: half, bottom: -half, near: 0, far: 3 * FAR * half });
    this.camera.position.copy(center).add(from);
    this.controls.target.copy(center);
    this.camera.updateProjectionMatrix();
    this.controls.update();
  }

  private draw(): void {
    const { clientWidth, clientHeight } = this.holder;
    if (clientWidth === 0) return;
    this.renderer.setSize(clientWidth, clientHeight);
    this.renderer.render(this.scene, this.camera);
  }
}

class Cloud {
  private readonly geometry = new BufferGeometry();
  private readonly material = new PointsMaterial({ size: 3, sizeAttenuation: false, vertexColors: true });
  private spots = new BufferAttribute(new Float32Array(0), 3);
  private shades = new BufferAttribute(new Uint8Array(0), 3, true);
  readonly object: Object3D = new Points(this.geometry, this.material);

  constructor() {
    this.object.frustumCulled = false; // They move; the sphere around them is that of the first ones.
  }

  // Says whether these are the first.
  show(values: Float32Array, columns: number, places: Uint8Array, colours: Uint8Array): boolean {
    const first = this.spots.count !== places.length;
    if (first) this.begin(places.length);
    places.forEach((place, row) => {
      this.spots.array.set(values.subarray(columns * row, columns * row + 3), 3 * row);
      this.shades.array.set(colours.subarray(4 * place, 4 * place + 3), 3 * row);
    });
    this.spots.needsUpdate = this.shades.needsUpdate = true;
    return first;
  }

  private begin(rows: number): void {
    this.geometry.dispose();
    this.spots = new BufferAttribute(new Float32Array(3 * rows), 3);
    this.shades = new BufferAttribute(new Uint8Array(3 * rows), 3, true);
    this.geometry.setAttribute("position", this.spots);
    this.geometry.setAttribute("color", this.shades);
  }

  sphere(): Sphere {
    const box = new Box3(),
      spot = new Vector3();
    for (let row = 0; row < this.spots.count; row++) {
      spot.fromBufferAttribute(this.spots, row);
      if (Number.isFinite(spot.x + spot.y + spot.z)) box.expandByPoint(spot);
    }
    return box.getBoundingSphere(new Sphere());
  }

  close(): void {
    this.geometry.dispose();
    this.material.dispose();
  }
}

class Body {
  private readonly geometry: BoxGeometry;
  private readonly material: ShaderMaterial;
  private readonly texture: Data3DTexture;
  private readonly table: DataTexture;
  readonly object: Object3D;

  constructor(
    readonly cells: number[],
    colours: Uint8Array<ArrayBuffer>,
  ) {
    const [depth, height, width] = cells;
    this.texture = new Data3DTexture(null, width, height, depth);
    Object.assign(this.texture, { format: RedFormat, unpackAlignment: 1 });
    Object.assign(this.texture, { minFilter: LinearFilter, magFilter: LinearFilter });
    this.table = new DataTexture(colours, colours.length / 4, 1);
    this.table.needsUpdate = true;
    this.material = new ShaderMaterial({
      uniforms: UniformsUtils.clone(VolumeRenderShader1.uniforms),
      vertexShader: VolumeRenderShader1.vertexShader,
      fragmentShader: VolumeRenderShader1.fragmentShader,
      side: BackSide, // The sight is followed from where it leaves the box.
    });
    const { uniforms } = this.material;
    uniforms.u_data.value = this.texture;
    uniforms.u_size.value = new Vector3(width, height, depth);
    uniforms.u_clim.value = new Vector2(0, 1);
    uniforms.u_cmdata.value = this.table;
    this.geometry = new BoxGeometry(width, height, depth);
    this.geometry.translate(width / 2 - 0.5, height / 2 - 0.5, depth / 2 - 0.5);
    this.object = new Mesh(this.geometry, this.material);
  }

  show(places: Uint8Array<ArrayBuffer>, level: number | null): void {
    this.texture.image.data = places;
    this.texture.needsUpdate = true;
    this.material.uniforms.u_renderstyle.value = level === null ? 0 : 1;
    this.material.uniforms.u_renderthreshold.value = level ?? 0;
  }

  sphere(): Sphere {
    this.geometry.computeBoundingSphere();
    return this.geometry.boundingSphere!;
  }

  close(): void {
    for (const one of [this.geometry, this.material, this.texture, this.table]) one.dispose();
  }
}

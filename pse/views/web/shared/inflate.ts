// Numbers that a page holds as text: deflated, in base64.

export async function inflated(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([unpacked(text.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function unpacked(text: string): Uint8Array<ArrayBuffer> {
  const packed = atob(text);
  const bytes = new Uint8Array(packed.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = packed.charCodeAt(i);
  return bytes;
}

import { EVENT_TYPE } from "../binlog/event-type.ts";
import { eventType } from "../binlog/event.ts";
import { nextSourcePosition } from "../binlog/source-position.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import { decodeAnyRotate } from "./prologue.ts";

/** Where in the source a reader of a relay file believes to be: what the prologue says, moved by each event, set by each Rotate. */
export class SourceTracker {
  file: string;
  position: number;

  constructor(start: SourcePosition) {
    this.file = start.file;
    this.position = start.position;
  }

  take(event: Buffer): void {
    if (eventType(event) === EVENT_TYPE.ROTATE) {
      const rotate = decodeAnyRotate(event);
      this.file = rotate.file;
      this.position = rotate.position;
    } else {
      this.position = nextSourcePosition(this.position, event);
    }
  }

  get source(): SourcePosition {
    return { file: this.file, position: this.position };
  }
}
